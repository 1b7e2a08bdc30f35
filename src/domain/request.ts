import type { TextCounts } from '../lib/text-counts.js';

/** The APIs whose requests are read. Each is one file in `wire/`. */
export type Api = 'openai-chat' | 'openai-completions';

/** Something in a prompt that is not text. */
export interface Media {
  readonly kind: 'image' | 'audio' | 'video' | 'file';
  /** Bytes of the decoded content, or null where the request only refers to it. */
  readonly bytes: number | null;
}

/** What a prompt consists of, by kind; never the text itself. */
export interface PromptContent {
  /** All text of messages, tool calls and results, names. */
  readonly text: TextCounts;
  /** Text of tool definitions and response schemas (as JSON). */
  readonly schema: TextCounts;
  readonly messages: number;
  readonly tools: number;
  /** Elements of a prompt that was given as token ids: each is one token. */
  readonly tokenIds: number;
  readonly media: readonly Media[];
}

/** What a request body tells, once it was read. Holds nothing of its text. */
export interface RequestFacts {
  readonly api: Api;
  readonly model: string;
  readonly stream: boolean;
  /** The client itself asked for usage in the stream (`stream_options.include_usage: true`). */
  readonly usageRequested: boolean;
  /** The largest output cap in the body, for one choice, in tokens; null without one. */
  readonly outputCapTokens: number | null;
  /** How many answers are generated from the prompt (`n`, `best_of`, prompts in a list): at least 1. */
  readonly choices: number;
  readonly prompt: PromptContent;
}

/** Why a body can't be read as a request of its API. All are the client's fault (400). */
export interface RequestFault {
  readonly kind: 'invalid_json' | 'not_an_object' | 'too_deep' | 'too_many' | 'missing_field' | 'wrong_type' | 'out_of_range';
  /** The field at fault, such as `max_tokens`; null where it is the body as a whole. */
  readonly field: string | null;
  /** A sentence for the client, without anything of the body's text. */
  readonly message: string;
}

/** Replaces the bytes `start` (inclusive) to `end` (exclusive) by `insert`. */
export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly insert: string;
}

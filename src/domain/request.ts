import type { TextFeatures } from '../lib/text-features.js';

/** The APIs whose requests are read. */
export type Api =
  | 'openai-chat'
  | 'openai-completions'
  | 'openai-responses'
  | 'openai-embeddings'
  | 'anthropic-messages'
  | 'bedrock-converse'
  | 'bedrock-invoke'
  | 'gemini-generate-content'
  | 'gemini-embed-content'
  | 'ollama-chat'
  | 'ollama-generate'
  | 'ollama-embed'
  | 'llamacpp-completion'
  | 'rerank';

/** Something in a prompt that is not text. */
export interface Media {
  readonly kind: 'image' | 'audio' | 'video' | 'file';
  /** Bytes of the decoded content, or null where the request only refers to it. */
  readonly bytes: number | null;
  /** Size of an image in pixels, read from its own header; null where it could not be read. */
  readonly widthPx: number | null;
  readonly heightPx: number | null;
  /** How closely the model is to look at an image, where the request says. */
  readonly detail: 'low' | 'high' | null;
  /** Length of sound or video in seconds, where its header tells; null otherwise. */
  readonly seconds: number | null;
  /** A file of plain text: the model sees all of it. */
  readonly plain?: boolean;
}

/** What a request's body only refers to: its tokens are in the prompt, its content is not in the body. */
export interface Reference {
  readonly kind: 'response' | 'conversation' | 'file' | 'cached_content';
  /** As the upstream named it; of any text that a client can send, at most `MAX_REFERENCE_LENGTH` characters. */
  readonly id: string;
}

/** Longest id of a reference that is kept. */
export const MAX_REFERENCE_LENGTH = 256;

/** What a prompt consists of, by kind; never the text itself. */
export interface PromptContent {
  /** System and developer instructions that the API keeps apart from its messages, or messages of those roles. */
  readonly system: TextFeatures;
  /** All other text of messages: content, tool calls and results, names. */
  readonly text: TextFeatures;
  /** Tool definitions (as JSON). */
  readonly toolText: TextFeatures;
  /** Schemas that an answer must follow (as JSON). */
  readonly schema: TextFeatures;
  readonly messages: number;
  readonly tools: number;
  /** Elements of a prompt that was given as token ids: each is one token. */
  readonly tokenIds: number;
  readonly media: readonly Media[];
  readonly references: readonly Reference[];
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
  /** The conversation it belongs to, as the body names it; null where it does not. */
  readonly session: string | null;
  /** What kind of work the body says it is; null where it does not. */
  readonly work: Work | null;
  /** The answer is made after the response (`background: true`): its usage will not be in it. */
  readonly background: boolean;
  /** The request switches reasoning on; some providers then add instructions of their own to the prompt. */
  readonly reasoning?: boolean;
  /** Models that the body lets a gateway turn to where `model` fails; empty or absent for nearly all. */
  readonly otherModels?: readonly string[];
}

/** Whether somebody waits for the answer. */
export type Work = 'interactive' | 'background';

/** Why a body can't be read as a request of its API. All are the client's fault (400). */
export interface RequestFault {
  readonly kind: 'invalid_json' | 'not_an_object' | 'too_deep' | 'too_many' | 'missing_field' | 'wrong_type' | 'out_of_range';
  /** The field at fault, such as `max_tokens`; null where it is the body as a whole. */
  readonly field: string | null;
  /** A sentence for the client, without anything of the body's text. */
  readonly message: string;
}

/** A body that was read, or what is wrong with it. */
export type ParsedRequest = { readonly ok: true; readonly facts: RequestFacts } | { readonly ok: false; readonly fault: RequestFault };

/** Replaces the bytes `start` (inclusive) to `end` (exclusive) by `insert`. */
export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly insert: string;
}

/** What a piece of a prompt is; `role`: the mark at which a message begins. */
export type PromptPart = 'tools' | 'system' | 'messages' | 'schema' | 'role';

/**
 * Takes the decoded prompt in the order in which an engine sees it (tools, system, then message by message, each with its role), so
 * that equal beginnings of two prompts give equal beginnings here, however their JSON is written.
 */
export interface PromptSink {
  add(piece: string, part: PromptPart): void;
  /** A picture, a sound or a file at this place: as it is written in the body, base64 for the most part. Not kept. */
  media(payload: Uint8Array): void;
}

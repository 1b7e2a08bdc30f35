import type { Api } from '../domain/request.js';

/** What a prompt costs beyond its text, in tokens. */
export interface Overheads {
  /** Around each message: role and marks. */
  readonly message: number;
  /** Once: what begins the answer. */
  readonly reply: number;
  /** Once where there are tools: the text that tells the model how to call them. */
  readonly toolsPreamble: number;
  /** For each tool. */
  readonly tool: number;
  /** Tokens of tool definitions as the model sees them, over those of their JSON. */
  readonly toolShare: number;
  /** The same of schemas that an answer must follow. */
  readonly schemaShare: number;
}

const CHAT: Overheads = { message: 4, reply: 3, toolsPreamble: 15, tool: 5, toolShare: 0.8, schemaShare: 0.8 };
/** Prompts that are only text: completions, embeddings. */
const PLAIN: Overheads = { message: 0, reply: 0, toolsPreamble: 0, tool: 0, toolShare: 1, schemaShare: 1 };

const PLAIN_APIS: ReadonlySet<Api> = new Set(['openai-completions', 'openai-embeddings', 'gemini-embed-content', 'ollama-embed', 'llamacpp-completion', 'rerank']);

/**
 * By model name, as of November 2026; the first that matches counts. Message and reply of OpenAI's models are published. All else was
 * calibrated on recorded requests with the provider's own count (`npm run prefill-table` shows how well), so it is rough where
 * `n` is small.
 */
const BY_NAME: readonly (readonly [RegExp, Overheads])[] = [
  [/gpt-5/, { ...CHAT, toolsPreamble: 95, tool: 8, toolShare: 0.7 }],
  [/gpt-|chatgpt|(^|[/.])o[134](-|$)/, { ...CHAT, toolsPreamble: 9, tool: 8, toolShare: 0.35 }],
  [/grok/, { ...CHAT, toolsPreamble: 150, tool: 10, toolShare: 0.8 }],
  [/claude-(opus-4[.-][789]|(opus|sonnet|haiku)-[5-9]|fable|mythos)/, { ...CHAT, message: 3, toolsPreamble: 290, tool: 20, toolShare: 1 }],
  [/claude-(opus|sonnet|haiku)-4[.-]?[56]/, { ...CHAT, message: 3, toolsPreamble: 480, tool: 20, toolShare: 1 }],
  [/claude-3-(haiku|sonnet|opus)/, { ...CHAT, message: 3, toolsPreamble: 160, tool: 10, toolShare: 1 }],
  [/claude/, { ...CHAT, message: 3, toolsPreamble: 320, tool: 10, toolShare: 1 }],
  [/nova-2/, { ...CHAT, toolsPreamble: 850, tool: 10, toolShare: 1 }],
  [/nova/, { ...CHAT, message: 2, reply: 0, toolsPreamble: 300, tool: 20, toolShare: 1 }],
  [/gemini|gemma/, { ...CHAT, message: 0, reply: 0, toolsPreamble: 0, tool: 10, toolShare: 0.4, schemaShare: 0 }],
  [/llama-?4/, { ...CHAT, toolsPreamble: 100, tool: 10, toolShare: 1 }],
];

export function overheadsOf(api: Api, model: string): Overheads {
  if (PLAIN_APIS.has(api)) return PLAIN;
  const name = model.toLowerCase();
  return BY_NAME.find(([pattern]) => pattern.test(name))?.[1] ?? CHAT;
}

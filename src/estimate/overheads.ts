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
  /** For each message after the first where there are tools: calls and results are set in marks of their own. */
  readonly toolMessage: number;
  /** Once where reasoning is switched on. */
  readonly reasoning: number;
  /** Tokens of tool definitions as the model sees them, over those of their JSON. */
  readonly toolShare: number;
  /** The same of schemas that an answer must follow. */
  readonly schemaShare: number;
  /** Once where there is one: the text that tells the model to follow it. */
  readonly schemaPreamble: number;
}

const CHAT: Overheads = { message: 4, reply: 3, toolsPreamble: 15, tool: 5, toolMessage: 0, toolShare: 0.8, schemaShare: 0.8, schemaPreamble: 0, reasoning: 0 };
const CLAUDE: Overheads = { ...CHAT, message: 3, tool: 10, toolShare: 1, schemaShare: 1, schemaPreamble: 170, reasoning: 29 };
const GEMINI: Overheads = { ...CHAT, message: 0, reply: 0, toolsPreamble: 0, tool: 5, toolMessage: 8, toolShare: 1, schemaShare: 0 };
/** Engines of open models make answers follow a schema without showing it to the model. */
const OPEN: Overheads = { ...CHAT, toolShare: 1, schemaShare: 0 };
/** Prompts that are only text: completions, embeddings. */
const PLAIN: Overheads = { message: 0, reply: 0, toolsPreamble: 0, tool: 0, toolMessage: 0, toolShare: 1, schemaShare: 1, schemaPreamble: 0, reasoning: 0 };

/** APIs of such prompts. */
export const PLAIN_APIS: ReadonlySet<Api> = new Set(['openai-completions', 'openai-embeddings', 'gemini-embed-content', 'ollama-embed', 'llamacpp-completion', 'rerank']);

/**
 * By API and model name, as of November 2026; the first that matches counts. Message and reply of OpenAI's models are published. All else was
 * calibrated on recorded requests with the provider's own count (`npm run prefill-table` shows how well), so it is rough where
 * `n` is small.
 */
const BY_NAME: readonly (readonly [RegExp, Overheads])[] = [
  [/gpt-oss/, { ...OPEN, reply: 60 }],
  [/^openai-responses .*gpt-5/, { ...CHAT, tool: 8, toolShare: 0.5, toolMessage: 12 }],
  [/gpt-5/, { ...CHAT, toolsPreamble: 78, tool: 5, toolShare: 0.6, toolMessage: 5 }],
  [/gpt-|chatgpt|[ /.]o[134](-|$)/, { ...CHAT, toolsPreamble: 9, tool: 1, toolShare: 0.4, toolMessage: 3 }],
  [/grok/, { ...CHAT, message: 2, reply: 4, toolsPreamble: 142, tool: 10, toolMessage: 5 }],
  [/claude-(opus-4[.-][789]|(opus|sonnet|haiku)-[5-9]|fable|mythos)/, { ...CLAUDE, toolsPreamble: 290, tool: 25, toolMessage: 30 }],
  [/claude-(opus|sonnet)-4[.-]?[56]/, { ...CLAUDE, toolsPreamble: 480, toolMessage: 15 }],
  [/claude-3-(haiku|sonnet|opus)/, { ...CLAUDE, toolsPreamble: 150 }],
  [/claude/, { ...CLAUDE, toolsPreamble: 320, toolMessage: 12 }],
  [/nova-2/, { ...CHAT, message: 0, reply: 44, toolsPreamble: 800, toolShare: 1, toolMessage: 15, reasoning: 50 }],
  [/nova/, { ...CHAT, message: 1, reply: 0, toolsPreamble: 290, tool: 20, toolShare: 1, toolMessage: 8 }],
  [/gemini-(1|2\.0)/, { ...GEMINI, tool: 0, toolShare: 0.4 }],
  [/gemini/, GEMINI],
  [/gemma/, { ...OPEN, message: 5, reply: 4 }],
  [/llama-?4/, { ...OPEN, toolsPreamble: 95, tool: 10, toolShare: 1 }],
  // The template names the dates of its knowledge and of today.
  [/llama-?3/, { ...OPEN, message: 5, reply: 27, toolsPreamble: 60 }],
  [/qwen|deepseek|kimi|glm|mistral|mixtral|ministral|llama|minimax|phi-|granite|olmo/, OPEN],
];

export function overheadsOf(api: Api, model: string): Overheads {
  if (PLAIN_APIS.has(api)) return PLAIN;
  const name = `${api} ${model.toLowerCase()}`;
  return BY_NAME.find(([pattern]) => pattern.test(name))?.[1] ?? CHAT;
}

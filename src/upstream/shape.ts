import type { GenerationRequest, RequestError } from './request.js';

/** Tokens of an answer, as usage tells them. */
export interface Counts {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
  readonly reasoningTokens: number;
}

/** A part of one choice's text. */
export interface Part {
  readonly choice: number;
  readonly text: string;
  readonly reasoning: boolean;
}

type Json = Record<string, unknown>;

/** OpenAI's `usage` object. */
export function usageJson(counts: Counts): Json {
  return {
    prompt_tokens: counts.promptTokens,
    completion_tokens: counts.completionTokens,
    total_tokens: counts.promptTokens + counts.completionTokens,
    prompt_tokens_details: { cached_tokens: counts.cachedTokens },
    completion_tokens_details: { reasoning_tokens: counts.reasoningTokens },
  };
}

/** OpenAI's error body. */
export function errorJson(error: RequestError): Json {
  const type = error.status >= 500 ? 'server_error' : 'invalid_request_error';
  return { error: { message: error.message, type, param: error.param, code: error.status === 404 ? 'model_not_found' : null } };
}

/** Makes the JSON of one answer's chunks, or of the whole. */
export class Shape {
  readonly #base: Json;
  readonly #chat: boolean;

  constructor(request: GenerationRequest, id: number, createdSeconds: number) {
    this.#chat = request.api === 'chat';
    const object = this.#chat ? (request.stream ? 'chat.completion.chunk' : 'chat.completion') : 'text_completion';
    this.#base = { id: `${this.#chat ? 'chatcmpl' : 'cmpl'}-sim-${id}`, object, created: createdSeconds, model: request.model };
  }

  /** The chunk that opens a choice; completions have none. */
  opening(choice: number, usage: Json | null | undefined): Json | null {
    if (!this.#chat) return null;
    return this.#chunk({ index: choice, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null }, usage);
  }

  part({ choice, text, reasoning }: Part, usage: Json | null | undefined): Json {
    if (!this.#chat) return this.#chunk({ index: choice, text, logprobs: null, finish_reason: null }, usage);
    return this.#chunk({ index: choice, delta: reasoning ? { reasoning_content: text } : { content: text }, logprobs: null, finish_reason: null }, usage);
  }

  finish(choice: number, reason: string, usage: Json | null | undefined): Json {
    const content = this.#chat ? { delta: {} } : { text: '' };
    return this.#chunk({ index: choice, ...content, logprobs: null, finish_reason: reason }, usage);
  }

  /** The chunk that only tells usage. */
  usageChunk(usage: Json): Json {
    return { ...this.#base, choices: [], usage };
  }

  /** A whole answer that is not streamed. */
  whole(texts: readonly { readonly text: string; readonly reasoning: string; readonly finish: string }[], usage: Json): Json {
    const choices = texts.map(({ text, reasoning, finish }, index) => {
      if (!this.#chat) return { index, text, logprobs: null, finish_reason: finish };
      const thought = reasoning === '' ? {} : { reasoning_content: reasoning };
      return { index, message: { role: 'assistant', content: text, refusal: null, ...thought }, logprobs: null, finish_reason: finish };
    });
    return { ...this.#base, choices, usage };
  }

  /** `usage` undefined leaves the member out, as servers do that were not asked for it. */
  #chunk(choice: Json, usage: Json | null | undefined): Json {
    return { ...this.#base, choices: [choice], ...(usage === undefined ? {} : { usage }) };
  }
}

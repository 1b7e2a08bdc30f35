import type { ResponseReader } from '../../../src/domain/wire.js';
import { TextCounter, type TextFeatures } from '../../../src/lib/text-features.js';
import { openaiChat } from '../../../src/wire/openai/openai.js';

export function sseReader(hideUsage = false): ResponseReader {
  return openaiChat.responseReader({ framing: 'sse', hideUsage });
}

/** Pushes the pieces and the end; returns what the client gets. */
export function feed(reader: ResponseReader, pieces: readonly (Buffer | string)[]): Buffer {
  const passed = pieces.map((piece) => reader.push(Buffer.from(piece)));
  return Buffer.concat([...passed, reader.end()]);
}

/** One chunk as the API sends it. */
export function event(part: unknown, lineEnd = '\n'): string {
  return `data: ${JSON.stringify(part)}${lineEnd}${lineEnd}`;
}

export function said(content: string): unknown {
  return { id: 'c1', object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta: { content }, finish_reason: null }] };
}

export const USAGE = { id: 'c1', object: 'chat.completion.chunk', model: 'm', choices: [], usage: { prompt_tokens: 8, completion_tokens: 2, total_tokens: 10 } };
export const DONE = 'data: [DONE]\n\n';

/** What is counted of a text. */
export function countsOf(text: string): TextFeatures {
  const counter = new TextCounter();
  counter.add(text);
  return counter.features;
}

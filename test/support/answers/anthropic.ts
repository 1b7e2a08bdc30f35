import type { ScriptedAnswer } from '../../../src/upstream/script.js';
import { sseStream } from '../framing.js';
import { member, streamed, TEXT, TOLD, whole, WORDS, type TypedEvent } from './said.js';

/** Input that was neither read from a cache nor written to one: Anthropic tells the three apart. */
const FRESH = TOLD.input - TOLD.cached - TOLD.cacheWrite;
const CACHE = {
  cache_creation_input_tokens: TOLD.cacheWrite, cache_read_input_tokens: TOLD.cached,
  cache_creation: { ephemeral_5m_input_tokens: TOLD.cacheWrite, ephemeral_1h_input_tokens: 0 },
};

/** Messages and their token count. */
export function anthropicAnswer(path: string, json: unknown): ScriptedAnswer | null {
  if (path.endsWith('/messages/count_tokens')) return whole({ input_tokens: TOLD.input });
  if (!path.endsWith('/messages')) return null;
  const model = member(json, 'model');
  return member(json, 'stream') === true ? streamed(sseStream(anthropicEvents(model).map((data) => ({ event: data.type, data })))) : whole(anthropicMessage(model));
}

function message(model: unknown, content: readonly object[], stop_reason: string | null, output_tokens: number): object {
  const usage = { input_tokens: FRESH, ...CACHE, output_tokens, service_tier: 'standard' };
  return { id: 'msg_s', type: 'message', role: 'assistant', model, content, stop_reason, stop_sequence: null, usage };
}

/** A whole message; Bedrock's InvokeModel answers with the same. */
export function anthropicMessage(model: unknown): object {
  return message(model, [{ type: 'text', text: TEXT }], 'end_turn', TOLD.output);
}

/** The events of a stream: the count of output in the first is a placeholder, the one in the delta is true. */
export function anthropicEvents(model: unknown): TypedEvent[] {
  return [
    { type: 'message_start', message: message(model, [], null, 1) },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'ping' },
    ...WORDS.map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: TOLD.output } },
    { type: 'message_stop' },
  ];
}

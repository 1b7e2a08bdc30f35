import type { EndEvent, StreamEnding } from '../domain/wire.js';

/** The one word by which programs know a stream that we ended. */
const CODE = 'stream_ended';

/** Our own member `tokenweir` of the last event, the same in all APIs. */
function ours({ why, requestId }: StreamEnding): Record<string, unknown> {
  return { reason: CODE, why, requestId };
}

/** The official clients raise whatever has a member `error`. `[DONE]` never comes. */
export function openAiEnd(ending: StreamEnding): EndEvent {
  return { name: null, exception: null, data: { error: { message: ending.message, type: 'server_error', param: null, code: CODE }, tokenweir: ours(ending) } };
}

/** The API's own event has code and message at the top, and the official clients hand that out like any other; what they raise is `error`. */
export function responsesEnd(ending: StreamEnding): EndEvent {
  const { data } = openAiEnd(ending);
  return { name: 'error', exception: null, data: { type: 'error', code: CODE, message: ending.message, param: null, sequence_number: 0, ...data } };
}

export function anthropicEnd(ending: StreamEnding): EndEvent {
  const error = { type: 'overloaded_error', message: ending.message };
  return { name: 'error', exception: null, data: { type: 'error', error, request_id: ending.requestId, tokenweir: ours(ending) } };
}

/** A `google.rpc.Status`; by its code the official client knows it for an error. */
export function geminiEnd(ending: StreamEnding): EndEvent {
  return { name: null, exception: null, data: { error: { code: 503, message: ending.message, status: 'UNAVAILABLE' }, tokenweir: ours(ending) } };
}

export function ollamaEnd(ending: StreamEnding): EndEvent {
  return { name: null, exception: null, data: { error: ending.message, tokenweir: ours(ending) } };
}

/** An exception that both calls that stream have in their model. */
export function bedrockEnd(ending: StreamEnding): EndEvent {
  return { name: null, exception: 'serviceUnavailableException', data: { message: ending.message, tokenweir: ours(ending) } };
}

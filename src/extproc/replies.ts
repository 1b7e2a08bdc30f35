import type { HeaderEdits } from '../admission/head.js';
import type { LocalAnswer } from '../domain/refusal.js';
import type { Reply, Struct } from './protocol.js';

type HeaderMutation = NonNullable<NonNullable<NonNullable<Reply['immediate_response']>['headers']>>;
type BodyMutation = { body: Buffer } | { clear_body: true } | { streamed_response: { body: Buffer; end_of_stream: boolean } };

/** The phase of a message that a reply belongs to. */
export type Phase = 'request' | 'response';

/** Envoy would append by default, and reads `raw_value` only. */
function headerMutation({ set, remove }: HeaderEdits): HeaderMutation {
  return {
    set_headers: set.map(([key, value]) => ({
      header: { key, raw_value: Buffer.from(value, 'utf8') },
      append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
    })),
    remove_headers: remove as string[],
  };
}

type Common = NonNullable<NonNullable<Reply['request_body']>['response']>;

function common(edits: HeaderEdits | null, body: BodyMutation | null): { response: Common } {
  const response: Common = {};
  if (edits !== null && edits.set.length + edits.remove.length > 0) response.header_mutation = headerMutation(edits);
  if (body !== null) response.body_mutation = body;
  return { response };
}

/** Goes on after headers, with edits. */
export function headersReply(phase: Phase, edits: HeaderEdits): Reply {
  const reply = common(edits, null);
  return phase === 'request' ? { request_headers: reply } : { response_headers: reply };
}

/** Goes on after a body message. `body` null leaves it as it is; `edits` count where the headers have not left yet. */
export function bodyReply(phase: Phase, body: Buffer | null, edits: HeaderEdits | null = null): Reply {
  const mutation: BodyMutation | null = body === null ? null : body.length === 0 ? { clear_body: true } : { body };
  return ofBody(phase, common(edits, mutation));
}

/** A piece of body that we send on ourselves (FULL_DUPLEX_STREAMED). */
export function duplexChunk(phase: Phase, body: Buffer, endOfStream: boolean): Reply {
  return ofBody(phase, common(null, { streamed_response: { body, end_of_stream: endOfStream } }));
}

function ofBody(phase: Phase, reply: { response: Common }): Reply {
  return phase === 'request' ? { request_body: reply } : { response_body: reply };
}

/** Goes on after trailers. */
export function trailersReply(phase: Phase): Reply {
  return phase === 'request' ? { request_trailers: {} } : { response_trailers: {} };
}

/** Answers the client in place of the upstream. */
export function immediateReply(answer: LocalAnswer): Reply {
  return {
    immediate_response: {
      status: { code: answer.status },
      headers: headerMutation({ set: answer.headers, remove: [] }),
      body: Buffer.from(answer.body, 'utf8'),
      details: 'tokenweir',
    },
  };
}

/**
 * Gives a message that waits for its answer so much more time than the filter's `message_timeout`. Envoy obeys one for each message, up to
 * the filter's `max_message_timeout`, and ignores what is above that. Not for FULL_DUPLEX_STREAMED, where no such timer runs.
 */
export function moreTime(ms: number): Reply {
  const seconds = Math.floor(ms / 1_000);
  return { override_message_timeout: { seconds, nanos: Math.round((ms - seconds * 1_000) * 1_000_000) } };
}

/** Adds facts for the access log to a reply. */
export function withMetadata(reply: Reply, metadata: Struct): Reply {
  reply.dynamic_metadata = metadata;
  return reply;
}

/** Fields that are not named go back to their default, so trailers are asked for again. */
export const WHOLE_ANSWER: NonNullable<Reply['mode_override']> = { response_body_mode: 'BUFFERED', response_trailer_mode: 'SEND' };

/**
 * Adds to a reply to response headers: asks Envoy for the body in one message: short answers come as two otherwise (bytes,
 * then an empty end), and each message is a round trip. Where the filter does not allow it (`allow_mode_override`), nothing changes.
 */
export function withWholeAnswer(reply: Reply): Reply {
  reply.mode_override = WHOLE_ANSWER;
  return reply;
}

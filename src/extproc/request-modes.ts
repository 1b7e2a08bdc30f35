import type { Reply } from './protocol.js';

type Modes = NonNullable<Reply['mode_override']>;

/** A request that is not metered: no body is shown to us, so that none waits for us, is bounded by a buffer or costs a message. */
const UNSEEN: Modes = { response_header_mode: 'SEND', request_body_mode: 'NONE', response_body_mode: 'NONE' };

/** A request in shadow: its body passes as it comes, and is shown to us beside. */
const BESIDE: Modes = {
  response_header_mode: 'SEND',
  request_body_mode: 'STREAMED',
  request_trailer_mode: 'SEND',
  response_body_mode: 'STREAMED',
  response_trailer_mode: 'SEND',
};

/** The same reply to request headers, for a request that passes. Where the filter allows no `mode_override`, nothing changes. */
export function withBodiesUnseen(reply: Reply): Reply {
  return { ...reply, mode_override: UNSEEN };
}

/** The same reply to request headers, for a request that is only observed. */
export function withBodiesBeside(reply: Reply): Reply {
  return { ...reply, mode_override: BESIDE };
}

import type { EnvoyMessage } from './protocol.js';

/** How bodies reach us. */
export interface BodyModes {
  /** `whole`: one message holds all of it. `duplex`: chunks, which we send on ourselves. */
  readonly request: 'whole' | 'duplex';
  /** `none`: not shown to us. `chunks`: each chunk is answered. `duplex`: chunks, which we send on ourselves. */
  readonly response: 'none' | 'chunks' | 'duplex';
}

const REQUEST: Readonly<Record<string, BodyModes['request']>> = { BUFFERED: 'whole', FULL_DUPLEX_STREAMED: 'duplex' };
const RESPONSE: Readonly<Record<string, BodyModes['response']>> = {
  NONE: 'none',
  BUFFERED: 'chunks',
  STREAMED: 'chunks',
  FULL_DUPLEX_STREAMED: 'duplex',
};

/**
 * The modes that the first message of a stream announces. An Envoy that announces nothing (before 1.36) is taken to
 * send BUFFERED requests and STREAMED responses.
 * @returns the modes, or a sentence on why a decision is impossible with them.
 */
export function bodyModesOf(first: EnvoyMessage): BodyModes | string {
  const config = first.protocol_config;
  if (config === null || config === undefined) return { request: 'whole', response: 'chunks' };
  const request = REQUEST[config.request_body_mode];
  const response = RESPONSE[config.response_body_mode];
  if (request === undefined) {
    return `request_body_mode ${config.request_body_mode} can't work: the decision needs the whole body before any header leaves; use BUFFERED or FULL_DUPLEX_STREAMED`;
  }
  if (response === undefined) {
    return `response_body_mode ${config.response_body_mode} can't work; use NONE, BUFFERED, STREAMED or FULL_DUPLEX_STREAMED`;
  }
  return { request, response };
}

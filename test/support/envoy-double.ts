import type { Stage } from '../../src/admission/head.js';
import type { EnvoyMessage, Reply } from '../../src/extproc/protocol.js';
import { Session } from '../../src/extproc/session.js';
import { settled, type Harness } from './harness.js';

type Mode = 'NONE' | 'STREAMED' | 'BUFFERED' | 'BUFFERED_PARTIAL' | 'FULL_DUPLEX_STREAMED' | 'GRPC';

export interface Modes {
  readonly request: Mode;
  readonly response: Mode;
}

export const BUFFERED: Modes = { request: 'BUFFERED', response: 'STREAMED' };
export const DUPLEX: Modes = { request: 'FULL_DUPLEX_STREAMED', response: 'FULL_DUPLEX_STREAMED' };

function headerMap(headers: Record<string, string>) {
  return { headers: Object.entries(headers).map(([key, value]) => ({ key, value: '', raw_value: Buffer.from(value) })) };
}

/** Plays Envoy's part of one stream, message by message, as the wire would deliver it. */
export class EnvoyDouble {
  readonly replies: Reply[] = [];
  failure: { kind: string; message: string } | null = null;
  readonly session: Session;
  #first = true;

  constructor(harness: Harness, private readonly modes: Modes | null = BUFFERED, stage: Stage = 'front') {
    this.session = new Session(harness.admission, stage, {
      send: (reply) => this.replies.push(reply),
      fail: (kind, message) => {
        this.failure = { kind, message };
      },
    });
  }

  async send(message: Partial<EnvoyMessage>): Promise<Reply[]> {
    const before = this.replies.length;
    const protocol_config = this.#first && this.modes !== null
      ? { request_body_mode: this.modes.request, response_body_mode: this.modes.response, send_body_without_waiting_for_header_response: false }
      : null;
    this.#first = false;
    this.session.receive({ attributes: {}, metadata_context: null, observability_mode: false, protocol_config, ...message } as EnvoyMessage);
    await settled();
    return this.replies.slice(before);
  }

  requestHeaders(headers: Record<string, string>, end = false, more: Partial<EnvoyMessage> = {}): Promise<Reply[]> {
    const all = { ':method': 'POST', ':path': '/v1/chat/completions', 'content-type': 'application/json', ...headers };
    return this.send({ request: 'request_headers', request_headers: { headers: headerMap(all), end_of_stream: end }, ...more });
  }

  requestBody(body: string | Buffer, end = true): Promise<Reply[]> {
    return this.send({ request: 'request_body', request_body: { body: Buffer.from(body as string), end_of_stream: end } });
  }

  requestTrailers(): Promise<Reply[]> {
    return this.send({ request: 'request_trailers', request_trailers: { trailers: null } });
  }

  responseHeaders(headers: Record<string, string> = {}, end = false, codeDetails = 'via_upstream'): Promise<Reply[]> {
    const all = { ':status': '200', 'content-type': 'application/json', ...headers };
    const attributes = { 'envoy.filters.http.ext_proc': { fields: { 'response.code_details': { kind: 'stringValue', stringValue: codeDetails } } } };
    return this.send({
      request: 'response_headers', response_headers: { headers: headerMap(all), end_of_stream: end },
      attributes: attributes as unknown as EnvoyMessage['attributes'],
    });
  }

  responseBody(body: string | Buffer, end = false): Promise<Reply[]> {
    return this.send({ request: 'response_body', response_body: { body: Buffer.from(body as string), end_of_stream: end } });
  }

  responseTrailers(): Promise<Reply[]> {
    return this.send({ request: 'response_trailers', response_trailers: { trailers: null } });
  }

  /** The stream ends, as it always does: by a reset. */
  async cancel(): Promise<void> {
    this.session.close();
    await settled();
  }

  /** What the upstream gets of the request's body, by the replies so far. */
  get forwarded(): string {
    return bodyOf(this.replies, 'request_body');
  }

  /** The status we answered with ourselves; null if the request went on. */
  get answered(): number | null {
    return this.replies.find(({ immediate_response }) => immediate_response)?.immediate_response?.status?.code ?? null;
  }

  get answer(): { headers: Record<string, string>; body: Record<string, unknown> } {
    const answer = this.replies.find(({ immediate_response }) => immediate_response)?.immediate_response;
    const headers = Object.fromEntries(
      (answer?.headers?.set_headers ?? []).map(({ header }) => [header?.key, String(header?.raw_value)]),
    ) as Record<string, string>;
    return { headers, body: JSON.parse(String(answer?.body)) as Record<string, unknown> };
  }
}

/** Bytes that our replies put in place of a phase's body (duplex pieces and replacements). */
export function bodyOf(replies: readonly Reply[], phase: 'request_body' | 'response_body'): string {
  return replies
    .map((reply) => {
      const mutation = reply[phase]?.response?.body_mutation;
      return String(mutation?.streamed_response?.body ?? mutation?.body ?? '');
    })
    .join('');
}

/** Header edits of a reply: name → value set, and names removed. */
export function editsOf(reply: Reply | undefined): { set: Record<string, string>; removed: string[] } {
  const common = reply?.request_headers ?? reply?.request_body ?? reply?.response_headers ?? reply?.response_body;
  const mutation = common?.response?.header_mutation;
  const set = Object.fromEntries((mutation?.set_headers ?? []).map(({ header }) => [header?.key, String(header?.raw_value)]));
  return { set: set as Record<string, string>, removed: [...(mutation?.remove_headers ?? [])] };
}

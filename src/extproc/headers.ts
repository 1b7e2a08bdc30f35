import type { RequestHead, ResponseHead, Stage } from '../admission/head.js';
import type { EnvoyMessage, HeaderMap, Struct__Output } from './protocol.js';
import { fromStruct } from './struct.js';

/** Headers by lower-case name. Envoy sends values as raw bytes; a repeated header is joined by `, `. */
export function headersOf(map: HeaderMap | null | undefined): Map<string, string> {
  const headers = new Map<string, string>();
  for (const { key, value, raw_value } of map?.headers ?? []) {
    const name = key.toLowerCase();
    const text = raw_value.length > 0 ? raw_value.toString('utf8') : value;
    const earlier = headers.get(name);
    headers.set(name, earlier === undefined ? text : `${earlier}, ${text}`);
  }
  return headers;
}

/** Attributes that the filter was configured to send, such as `request.id`: strings by name. */
function attribute(message: EnvoyMessage, name: string): string | null {
  for (const struct of Object.values(message.attributes ?? {})) {
    const value = (struct as Struct__Output).fields?.[name]?.stringValue;
    if (value !== undefined && value !== '') return value;
  }
  return null;
}

/** What a `request_headers` message tells. */
export function requestHeadOf(message: EnvoyMessage, stage: Stage): RequestHead {
  const headers = headersOf(message.request_headers?.headers);
  const metadata = message.metadata_context?.filter_metadata ?? {};
  return {
    method: headers.get(':method') ?? '',
    path: headers.get(':path') ?? '',
    headers,
    endOfStream: message.request_headers?.end_of_stream ?? false,
    stage,
    externalId: attribute(message, 'request.id') ?? headers.get('x-request-id') ?? null,
    metadata: (namespace) => (Object.hasOwn(metadata, namespace) ? fromStruct(metadata[namespace] as Struct__Output) : undefined),
  };
}

/** What a `response_headers` message tells. An answer that Envoy made itself has another reason than `via_upstream`. */
export function responseHeadOf(message: EnvoyMessage): ResponseHead {
  const headers = headersOf(message.response_headers?.headers);
  const details = attribute(message, 'response.code_details');
  const status = Number(headers.get(':status') ?? '200');
  return {
    status: Number.isInteger(status) ? status : 200,
    headers,
    endOfStream: message.response_headers?.end_of_stream ?? false,
    fromUpstream: details === null || details === 'via_upstream',
  };
}

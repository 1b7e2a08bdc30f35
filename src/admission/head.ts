/** Which side of the gateway a filter stands on, told by the filter's gRPC initial metadata. */
export type Stage = 'front' | 'back' | 'both';

/** What the headers of a request tell. Header names are lower-case; a repeated header is joined by `, `. */
export interface RequestHead {
  readonly method: string;
  readonly path: string;
  readonly headers: ReadonlyMap<string, string>;
  /** No body follows. */
  readonly endOfStream: boolean;
  readonly stage: Stage;
  /** Envoy's own id of the request, where it told one. */
  readonly externalId: string | null;
  /** Verified metadata that filters before us left, by namespace; undefined where there is none. */
  readonly metadata: (namespace: string) => unknown;
}

/** What the headers of an answer tell. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly endOfStream: boolean;
  /** False where Envoy itself answered (no route, upstream refused, time-out). */
  readonly fromUpstream: boolean;
}

/** Headers to set (each replacing what is there) and to remove. */
export interface HeaderEdits {
  readonly set: readonly (readonly [string, string])[];
  readonly remove: readonly string[];
}

/** Leaves the headers as they are. */
export const NO_EDITS: HeaderEdits = { set: [], remove: [] };

/** The request asks for a connection that both sides talk on, by whatever method: it is no exchange any more. */
export function isUpgrade({ method, headers }: Pick<RequestHead, 'method' | 'headers'>): boolean {
  return headers.has('upgrade') || method === 'CONNECT';
}

/** What stands behind the question mark of a path; null without one. */
export function queryOf(path: string): string | null {
  return /^[^?#]*\?([^#]*)/.exec(path)?.[1] ?? null;
}

const OWN_NAMES = /^x-(tokenweir-|pass-x-tokenweir-|pass-x-gateway-|gateway-destination-endpoint$)/;

/**
 * Names of inbound headers that only we may set: a client's own copies would choose nodes or claim decisions. A gateway
 * forwards `x-pass-NAME` as `NAME`, so those count as well.
 */
export function spoofedHeaders(headers: ReadonlyMap<string, string>): string[] {
  const names: string[] = [];
  for (const name of headers.keys()) {
    if (OWN_NAMES.test(name)) names.push(name);
  }
  return names;
}

import { queryOf, spoofedHeaders, type HeaderEdits, type RequestHead } from './head.js';

/** Headers that a SigV4 signature covers. */
export type SignedHeaders = ReadonlySet<string>;

const AUTHORIZATION = /^AWS4-/i;
/** Any of these beside a signature, and the request is somebody's who has a key: the signature may be made up, and is nothing to us. */
const KEYS = ['x-api-key', 'api-key', 'x-goog-api-key', 'x-litellm-api-key', 'ocp-apim-subscription-key'];
const MAX_LISTED = 8192;

/**
 * What the signature of a request covers, in the header or (presigned) in the query; null for a request without one. What it covers
 * must reach AWS as it came, and so must the body, whose hash is in it. Whether it is a true one only AWS can tell.
 */
export function signedHeadersOf(head: RequestHead): SignedHeaders | null {
  const authorization = head.headers.get('authorization');
  const query = queryOf(head.path);
  if (KEYS.some((name) => head.headers.has(name)) || holdsKey(query)) return null;
  if (authorization !== undefined) return AUTHORIZATION.test(authorization) ? namesIn(/SignedHeaders=([^,\s]*)/i.exec(authorization)?.[1]) : null;
  if (query === null || !/(^|&)X-Amz-Signature=/i.test(query)) return null;
  return namesIn(/(?:^|&)X-Amz-SignedHeaders=([^&]*)/i.exec(query)?.[1]?.replace(/%3b/gi, ';'));
}

/** A key as Google's APIs take it; no API of AWS has a parameter of that name. */
function holdsKey(query: string | null): boolean {
  return query !== null && new URLSearchParams(query).has('key');
}

/** What of the edits the signature does not cover. */
export function unsignedEdits({ set, remove }: HeaderEdits, signed: SignedHeaders): HeaderEdits {
  return { set: set.filter(([name]) => !signed.has(name)), remove: remove.filter((name) => !signed.has(name)) };
}

/** A header that only we may set and that the signature covers, so that it can't be taken away; null where there is none. */
export function signedSpoof(head: RequestHead, signed: SignedHeaders): string | null {
  return spoofedHeaders(head.headers).find((name) => signed.has(name)) ?? null;
}

function namesIn(list: string | undefined): SignedHeaders {
  return new Set((list ?? '').slice(0, MAX_LISTED).toLowerCase().split(';'));
}

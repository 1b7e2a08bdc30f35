import { createHash, createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** A request as a server got it. */
export interface SignedRequest {
  readonly method: string;
  /** Path and query, as on the request line. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const sha256 = (data: Buffer | string): string => createHash('sha256').update(data).digest('hex');
const hmac = (key: Buffer | string, data: string): Buffer => createHmac('sha256', key).update(data).digest();

/** AWS's own percent-encoding: all but the unreserved characters of RFC 3986. */
const escaped = (text: string): string => encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

/**
 * Whether a request carries the right AWS signature, version 4, computed from what arrived: path, query, signed headers, body. By
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html (each segment of the path is encoded twice).
 */
export function isSignedRightly(request: SignedRequest, secretKey: string): boolean {
  const found = /^AWS4-HMAC-SHA256 Credential=[^/]+\/(\d+)\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]+)$/.exec(request.headers.authorization ?? '');
  if (found === null) return false;
  const [, day = '', region = '', service = '', signed = '', signature] = found;
  const scope = `${day}/${region}/${service}/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', String(request.headers['x-amz-date']), scope, sha256(canonical(request, signed))].join('\n');
  const key = [region, service, 'aws4_request'].reduce<Buffer>(hmac, hmac(`AWS4${secretKey}`, day));
  return hmac(key, toSign).toString('hex') === signature;
}

function canonical({ method, path, headers, body }: SignedRequest, signed: string): string {
  const [plain = '', query = ''] = path.split('?', 2);
  const lines = signed.split(';').map((name) => `${name}:${String(headers[name === ':authority' ? 'host' : name] ?? '').trim()}\n`);
  return [method, plain.split('/').map(escaped).join('/'), query.split('&').sort().join('&'), lines.join(''), signed, sha256(body)].join('\n');
}

import { equalConstantTime, sha256Hex } from '../lib/hash.js';

/** Whether an `Authorization` header carries the token. The time taken tells nothing of the token, nor of its length. */
export function bearerMatches(authorization: string | undefined, token: string): boolean {
  const presented = /^bearer +(\S+) *$/i.exec(authorization ?? '')?.[1] ?? '';
  return equalConstantTime(sha256Hex(presented), sha256Hex(token));
}

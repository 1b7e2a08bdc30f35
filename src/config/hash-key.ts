import { sha256Hex } from '../lib/hash.js';

/** The form in which the configuration holds a client's key: `sha256:` and 64 lower-case hex digits. */
export function hashKey(key: string): string {
  return `sha256:${sha256Hex(key)}`;
}

import { createHash } from 'node:crypto';

/** The form in which the configuration holds a client's key: `sha256:` and 64 lower-case hex digits. */
export function hashKey(key: string): string {
  return `sha256:${sha256(key)}`;
}

/** SHA-256 of a text's UTF-8 bytes, in lower-case hex. */
export function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

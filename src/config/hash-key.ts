import { createHash } from 'node:crypto';

/** The form in which the configuration holds a client's key: `sha256:` and 64 lower-case hex digits. */
export function hashKey(key: string): string {
  return `sha256:${createHash('sha256').update(key, 'utf8').digest('hex')}`;
}

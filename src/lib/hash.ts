import { hash, timingSafeEqual } from 'node:crypto';

/** SHA-256 of a text (as UTF-8), lower-case hex. */
export function sha256Hex(text: string): string {
  return hash('sha256', text, 'hex');
}

/** Whether two texts are equal, in a time that tells nothing of where they differ; texts of unequal length differ at once. */
export function equalConstantTime(a: string, b: string): boolean {
  const bytesA = Buffer.from(a);
  const bytesB = Buffer.from(b);
  return bytesA.length === bytesB.length && timingSafeEqual(bytesA, bytesB);
}

import { MAX_COUNT, type Fields } from '../json/fields.js';
import type { Json } from '../json/json.js';

/** Most answers one request may ask for. */
export const MAX_CHOICES = 4096;

/**
 * The largest of several caps on output, by the path of each; null without one. A negative one is no limit at all. What follows a
 * point is cut off, as the servers do it.
 */
export function largestCap(fields: Fields, caps: Readonly<Record<string, Json>>): number | null {
  let largest = -1;
  for (const [path, cap] of Object.entries(caps)) {
    if (cap === undefined || cap === null) continue;
    if (typeof cap !== 'number') fields.fail('wrong_type', path, `The field \`${path}\` must be a number.`);
    else if (cap < 0) return null;
    else largest = Math.max(largest, Math.min(MAX_COUNT, Math.trunc(cap)));
  }
  return largest < 0 ? null : largest;
}

import type { Splice } from '../../domain/request.js';

/**
 * Applies edits to a body; all other bytes stay as they are. Edits must not overlap and must lie within the body, in any
 * order; a `RangeError` otherwise. Without edits the body itself is returned.
 */
export function applySplices(body: Buffer, splices: readonly Splice[]): Buffer {
  if (splices.length === 0) return body;
  const pieces: Buffer[] = [];
  let position = 0;
  for (const { start, end, insert } of [...splices].sort((a, b) => a.start - b.start)) {
    if (start < position || end < start || end > body.length) throw new RangeError(`splice ${start} to ${end} does not fit`);
    pieces.push(body.subarray(position, start), Buffer.from(insert));
    position = end;
  }
  pieces.push(body.subarray(position));
  return Buffer.concat(pieces);
}

import type { Framing, ResponseReader } from '../../domain/wire.js';

const NOTHING = Buffer.alloc(0);
/** Bytes behind which an event may be over; null: behind any. */
const ENDS: Record<Framing, readonly number[] | null> = { sse: [0x0a, 0x0d], ndjson: [0x0a], json: [0x7d], eventstream: null };

/**
 * Shows a reader only so much of a chunk as ends the event that the client has the beginning of; all of it where that event does not end in
 * it. Returns what the client gets of that.
 */
export function restOfEvent(reader: Pick<ResponseReader, 'push' | 'midEvent'>, framing: Framing, chunk: Buffer): Buffer {
  const shown: Buffer[] = [];
  let at = 0;
  while (at < chunk.length && reader.midEvent) {
    const end = nextEnd(chunk, at, ENDS[framing]);
    shown.push(reader.push(chunk.subarray(at, end)));
    at = end;
  }
  return shown.length === 0 ? NOTHING : Buffer.concat(shown);
}

function nextEnd(chunk: Buffer, from: number, ends: readonly number[] | null): number {
  if (ends === null) return from + 1;
  let at = from;
  while (at < chunk.length && !ends.includes(chunk[at]!)) at++;
  return Math.min(chunk.length, at + 1);
}

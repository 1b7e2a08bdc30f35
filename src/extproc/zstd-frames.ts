const FRAME_MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC = 0x184d2a50;
const SKIPPABLE_MASK = 0xfffffff0;
/** The window that RFC 8878 asks every decoder to support. */
const MAX_WINDOW_BYTES = 8 * 1024 * 1024;
const DICTIONARY_ID_BYTES = [0, 1, 2, 4] as const;
const CONTENT_SIZE_BYTES = [0, 2, 4, 8] as const;
const RLE = 1;
const RESERVED = 3;

/**
 * Whether every frame of a whole zstd body has a window within bounds. A decoder allocates the window that a header
 * claims, up to 2 GiB for ten bytes of body: so the headers are read first, by walking over the blocks.
 * Layout: RFC 8878, section 3.1.
 */
export function zstdWindowsFit(body: Buffer): boolean {
  let at = 0;
  try {
    while (at < body.length) {
      const next = afterFrame(body, at);
      if (next === null) return false;
      at = next;
    }
    return true;
  } catch (error) {
    // Reading beyond the end: the body is cut, or lies about its lengths.
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** Where the next frame starts; null if this one is none, or its window is too large. */
function afterFrame(body: Buffer, at: number): number | null {
  const magic = body.readUInt32LE(at);
  if ((magic & SKIPPABLE_MASK) >>> 0 === SKIPPABLE_MAGIC) return at + 8 + body.readUInt32LE(at + 4);
  if (magic !== FRAME_MAGIC) return null;
  const descriptor = body.readUInt8(at + 4);
  const singleSegment = (descriptor & 0x20) !== 0;
  const sizeFlag = descriptor >> 6;
  const sizeBytes = sizeFlag === 0 && singleSegment ? 1 : CONTENT_SIZE_BYTES[sizeFlag]!;
  const sizeAt = at + 5 + (singleSegment ? 0 : 1) + DICTIONARY_ID_BYTES[descriptor & 3]!;
  const window = singleSegment ? contentBytes(body, sizeAt, sizeBytes) : windowBytes(body.readUInt8(at + 5));
  if (window > MAX_WINDOW_BYTES) return null;
  const blocksEnd = afterBlocks(body, sizeAt + sizeBytes);
  return blocksEnd === null ? null : blocksEnd + ((descriptor & 4) !== 0 ? 4 : 0);
}

function windowBytes(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 7);
}

function contentBytes(body: Buffer, at: number, bytes: number): number {
  if (bytes === 8) return Number(body.readBigUInt64LE(at));
  // Sizes in two bytes start at 256.
  return body.readUIntLE(at, bytes) + (bytes === 2 ? 256 : 0);
}

function afterBlocks(body: Buffer, first: number): number | null {
  let at = first;
  for (;;) {
    const header = body.readUIntLE(at, 3);
    const type = (header >> 1) & 3;
    if (type === RESERVED) return null;
    at += 3 + (type === RLE ? 1 : header >> 3);
    if ((header & 1) === 1) return at;
  }
}

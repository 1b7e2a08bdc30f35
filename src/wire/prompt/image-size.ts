/** Width and height in pixels. */
export interface ImageSize {
  readonly widthPx: number;
  readonly heightPx: number;
}

/** No picture that a model takes is longer; such figures say that it is no picture. */
const MAX_PX = 65_535;

/** Bytes of the longest of the headers, JPEG's apart. */
const HEADER_BYTES = 30;

/**
 * Reads the size of a picture from the first bytes of its file: PNG, GIF, WebP, BMP, JPEG (whose size stands behind its metadata,
 * so of that as much as there is must be given). Null for anything else. Never throws; linear. Layouts: the formats' own
 * specifications (W3C PNG, CompuServe GIF89a, RFC 9649, ITU T.81, Microsoft's BITMAPINFOHEADER).
 */
export function imageSize(bytes: Buffer): ImageSize | null {
  if (isJpeg(bytes)) return jpegSize(bytes);
  if (bytes.length < HEADER_BYTES) return null;
  if (bytes.readUInt32BE(0) === 0x89504e47) return sized(bytes.readUInt32BE(16), bytes.readUInt32BE(20));
  const mark = bytes.toString('latin1', 0, 4);
  if (mark === 'GIF8') return sized(bytes.readUInt16LE(6), bytes.readUInt16LE(8));
  if (mark === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP') return webpSize(bytes);
  if (mark.startsWith('BM')) return sized(bytes.readInt32LE(18), Math.abs(bytes.readInt32LE(22)));
  return null;
}

/** Whether `imageSize` needs more than the first bytes. */
export function isJpeg(bytes: Buffer): boolean {
  return bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff;
}

function sized(widthPx: number, heightPx: number): ImageSize | null {
  return widthPx > 0 && heightPx > 0 && widthPx <= MAX_PX && heightPx <= MAX_PX ? { widthPx, heightPx } : null;
}

/** Its three forms: lossy, lossless, extended. */
function webpSize(bytes: Buffer): ImageSize | null {
  const form = bytes.toString('latin1', 12, 16);
  if (form === 'VP8 ') return sized(bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff);
  if (form === 'VP8L') {
    const bits = bytes.readUInt32LE(21);
    return sized((bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1);
  }
  return form === 'VP8X' ? sized(bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1) : null;
}

/** Segment by segment to the frame header, one of SOF0 to SOF15 (three of those codes mean something else). */
function jpegSize(bytes: Buffer): ImageSize | null {
  let i = 2;
  while (i + 9 <= bytes.length) {
    if (bytes[i] !== 0xff) return null;
    const code = bytes[i + 1]!;
    if (code === 0xff) {
      i++;
      continue;
    }
    const isFrame = code >= 0xc0 && code <= 0xcf && code !== 0xc4 && code !== 0xc8 && code !== 0xcc;
    if (isFrame) return sized(bytes.readUInt16BE(i + 7), bytes.readUInt16BE(i + 5));
    const standsAlone = code === 0x01 || (code >= 0xd0 && code <= 0xd8);
    i += standsAlone ? 2 : 2 + Math.max(2, bytes.readUInt16BE(i + 2));
  }
  return null;
}

import type { LongText } from '../json/texts.js';
import { imageSize, isJpeg, type ImageSize } from './image-size.js';

/** A string of the body, or where a long one lies in it. */
export type Payload = string | LongText;

/** Enough base64 for every header but JPEG's, which stands behind its metadata. */
const HEADER_CHARACTERS = 256;
/** Bytes that one character may take in JSON. */
const LONGEST_ESCAPE = 6;
const JPEG_HEADER_CHARACTERS = 88_000;

/** The first characters of a string. */
export function headOf(payload: Payload, characters: number): string {
  if (typeof payload === 'string') return payload.slice(0, characters);
  const head = payload.text(0, characters);
  return head.length >= characters ? head.slice(0, characters) : payload.text(0, LONGEST_ESCAPE * characters).slice(0, characters);
}

/** Length in bytes of what the base64 from character `from` to the end stands for. */
export function decodedBytes(payload: Payload, from: number): number {
  const tail = typeof payload === 'string' ? payload.slice(-2) : payload.text(payload.length - 2);
  const padding = tail.endsWith('==') ? 2 : tail.endsWith('=') ? 1 : 0;
  return Math.max(0, Math.floor(((payload.length - from) * 3) / 4) - padding);
}

/** Size of a picture that is given in base64 from character `from` on; null where its header can't be read. */
export function sizeOf(payload: Payload, from: number): ImageSize | null {
  const head = decodeHead(payload, from, HEADER_CHARACTERS);
  return imageSize(head) ?? (isJpeg(head) ? imageSize(decodeHead(payload, from, JPEG_HEADER_CHARACTERS)) : null);
}

/**
 * Length of a sound in seconds, from its length in bytes and its own header; null where that can't be read. Only WAV tells it at
 * its start (bytes a second, in the chunk `fmt `, which comes first); MP3, Ogg and MP4 have to be read to their end.
 */
export function secondsOf(payload: Payload, from: number, bytes: number): number | null {
  const head = decodeHead(payload, from, HEADER_CHARACTERS);
  if (head.length < 44 || head.toString('latin1', 0, 4) !== 'RIFF' || head.toString('latin1', 8, 16) !== 'WAVEfmt ') return null;
  const bytesPerSecond = head.readUInt32LE(28);
  return bytesPerSecond === 0 ? null : Math.max(0, bytes - 44) / bytesPerSecond;
}

function decodeHead(payload: Payload, from: number, characters: number): Buffer {
  return Buffer.from(headOf(payload, from + characters).slice(from), 'base64');
}

import type { Media } from '../../domain/request.js';
import { isObject, type Json, type JsonObject } from '../json/json.js';

/** Keys whose strings are a picture, a sound, a file or a reference to one, wherever they stand in a media block. */
const PAYLOAD_KEYS = new Set(['data', 'bytes', 'file_data', 'file_id', 'b64_json', 'url', 'uri', 'fileUri', 'file_uri', 'image_url', 'video_url', 'audio_url']);

/** Keys whose strings are always text for the model, also where they look like a `data:` URL. */
const TEXT_KEYS = new Set(['text', 'content', 'arguments', 'input_text', 'thinking', 'reasoning_content']);

/** How far into a string its `;base64,` is looked for. */
const HEAD = 256;

/** The kind of media that an object or member is about; null where nothing says so. */
export function mediaKind(name: Json): Media['kind'] | null {
  if (typeof name !== 'string') return null;
  const word = name.slice(0, HEAD).toLowerCase();
  if (word.includes('image')) return 'image';
  if (word.includes('audio')) return 'audio';
  if (word.includes('video')) return 'video';
  return word.includes('file') || word.includes('document') || word.includes('pdf') ? 'file' : null;
}

/** What an object itself says about the kind of media in it; else what its surroundings said. */
export function kindWithin(block: JsonObject, around: Media['kind'] | null): Media['kind'] | null {
  if (block['type'] === 'text') return null;
  const told = mediaKind(block['media_type']) ?? mediaKind(block['mimeType']) ?? mediaKind(block['mime_type']);
  return told ?? mediaKind(block['type']) ?? around;
}

/** Reads a string at `key` as media; null where it is text. `around` is the kind its surroundings speak of. */
export function mediaOf(key: string, value: string, around: Media['kind'] | null): Media | null {
  if (TEXT_KEYS.has(key)) return null;
  const head = value.slice(0, HEAD);
  const comma = head.startsWith('data:') ? head.indexOf(',') : -1;
  if (comma >= 0) {
    const kind = mediaKind(head.slice(0, comma)) ?? around ?? mediaKind(key) ?? 'file';
    return mediaOfKind(kind, head.slice(0, comma).endsWith(';base64') ? decodedBytes(value, comma + 1) : value.length - comma - 1);
  }
  const kind = around ?? mediaKind(key);
  if (kind === null || !PAYLOAD_KEYS.has(key)) return null;
  return mediaOfKind(kind, isReference(key, head) ? null : decodedBytes(value, 0));
}

function mediaOfKind(kind: Media['kind'], bytes: number | null): Media {
  return { kind, bytes, widthPx: null, heightPx: null, detail: null, seconds: null };
}

function isReference(key: string, head: string): boolean {
  return key === 'file_id' || key.toLowerCase().endsWith('uri') || key.endsWith('url') || head.startsWith('http');
}

/** Length of what base64 from `from` to the end stands for. */
function decodedBytes(value: string, from: number): number {
  const padding = value.endsWith('==') ? 2 : value.endsWith('=') ? 1 : 0;
  return Math.max(0, Math.floor(((value.length - from) * 3) / 4) - padding);
}

/** True for a member that holds media in a list of choices such as `{image: {source: {bytes}}}`. */
export function mediaMember(key: string, value: Json): Media['kind'] | null {
  return isObject(value) ? mediaKind(key) : null;
}

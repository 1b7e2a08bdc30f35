import type { Media } from '../../domain/request.js';
import type { Json, JsonObject } from '../json/json.js';
import { decodedBytes, headOf, secondsOf, sizeOf, type Payload } from './payload.js';

/** Keys whose strings are a picture, a sound, a file or a reference to one, wherever they stand in a media block. */
const PAYLOAD_KEYS = new Set(['data', 'bytes', 'file_data', 'file_id', 'b64_json', 'url', 'uri', 'fileUri', 'file_uri', 'image_url', 'video_url', 'audio_url', 'images']);

/** Keys whose strings are always text for the model, also where they look like a `data:` URL. */
const TEXT_KEYS = new Set(['text', 'content', 'arguments', 'input_text', 'thinking', 'reasoning_content']);

/** How far into a string its `;base64,` is looked for. */
const HEAD = 256;

/** What the surroundings of a string say of the media in it. */
export interface Around {
  readonly kind: Media['kind'] | null;
  readonly detail: Media['detail'];
  /** It says that the bytes are plain text. */
  readonly plain: boolean;
}

export const NOTHING_AROUND: Around = { kind: null, detail: null, plain: false };

/** Types and endings of files that are text: all of it is shown to the model, not pages of it. */
const PLAIN = /^(data:)?(text\/|application\/(x-)?(json|xml|yaml|javascript|csv|markdown))|^(txt|md|csv|html)$/;

/** What nearly all blocks say; others are looked into. */
const USUAL: ReadonlyMap<string, Media['kind'] | null> = new Map([
  ...['text', 'input_text', 'output_text', 'message', 'function', 'tool_use', 'tool_result', 'toolUse', 'toolResult', 'thinking', 'source', 'parts', 'content'].map((word) => [word, null] as const),
  ...['image', 'image_url', 'input_image', 'image/png', 'image/jpeg', 'data:image/png;base64', 'data:image/jpeg;base64'].map((word) => [word, 'image'] as const),
]);

/** Most other words are of no kind: told at once. */
const ANY_KIND = /image|audio|video|file|document|pdf/i;

/** The kind of media that an object or member is about; null where nothing says so. */
export function mediaKind(name: Json): Media['kind'] | null {
  if (typeof name !== 'string') return null;
  const usual = USUAL.get(name);
  if (usual !== undefined) return usual;
  if (!ANY_KIND.test(name)) return null;
  const word = name.slice(0, HEAD).toLowerCase();
  if (word.includes('image')) return 'image';
  if (word.includes('audio')) return 'audio';
  if (word.includes('video')) return 'video';
  return word.includes('file') || word.includes('document') || word.includes('pdf') ? 'file' : null;
}

/** What an object itself says about the media in it; else what its surroundings said. */
export function aroundWithin(block: JsonObject, around: Around): Around {
  const { type, detail, format } = block;
  const kind = type === 'text' ? null : (mediaKind(block['media_type']) ?? mediaKind(block['mimeType']) ?? mediaKind(block['mime_type']) ?? mediaKind(type) ?? around.kind);
  const told = detail === 'low' || detail === 'high' ? detail : around.detail;
  const plain = around.plain || isPlain(block['media_type']) || isPlain(block['mimeType']) || isPlain(block['mime_type']) || isPlain(format);
  return kind === around.kind && told === around.detail && plain === around.plain ? around : { kind, detail: told, plain };
}

/** The same for the object that is the member `key`: it may hold media by its name, as `{image: {source: {bytes}}}` does. */
export function aroundMember(key: string, around: Around): Around {
  const kind = mediaKind(key) ?? around.kind;
  return kind === around.kind ? around : { ...around, kind };
}

function isPlain(name: Json): boolean {
  return typeof name === 'string' && PLAIN.test(name.slice(0, HEAD));
}

/** Reads a string at `key` as media; null where it is text. `read`: its header as well. */
export function mediaOf(key: string, value: Payload, around: Around, read: boolean): Media | null {
  if (TEXT_KEYS.has(key)) return null;
  const isPayload = PAYLOAD_KEYS.has(key);
  const head = headOf(value, HEAD);
  const kind = around.kind ?? mediaKind(key);
  const comma = head.startsWith('data:') ? head.indexOf(',') : -1;
  // Anywhere else it may only look like media, and be shown to the model letter by letter: it counts as text does, about.
  if (!isPayload && mediaKind(key) === null && (kind === null || kind === 'file')) {
    const encoded = comma >= 0 && head.slice(0, comma).endsWith(';base64');
    return encoded ? mediaOfKind({ kind: 'file', detail: null, plain: true }, value, comma + 1, false) : null;
  }
  if (comma >= 0) return mediaInUrl(value, head.slice(0, comma), { ...around, kind }, read);
  if (kind === null || !isPayload) return null;
  return isReference(key, head) ? mediaElsewhere(kind, around.detail) : mediaOfKind({ ...around, kind }, value, 0, read);
}

/** Media that the request only points at. */
export function mediaElsewhere(kind: Media['kind'], detail: Media['detail'] = null): Media {
  return { kind, bytes: null, widthPx: null, heightPx: null, detail, seconds: null };
}

/** Media in base64, from character `from` of a string on. */
function mediaOfKind({ kind, detail, plain }: Around & { readonly kind: Media['kind'] }, value: Payload, from: number, read: boolean): Media {
  const bytes = decodedBytes(value, from);
  const size = kind === 'image' && read ? sizeOf(value, from) : null;
  const seconds = kind === 'audio' && read ? secondsOf(value, from, bytes) : null;
  return { kind, bytes, widthPx: size?.widthPx ?? null, heightPx: size?.heightPx ?? null, detail, seconds, ...(kind === 'file' && plain && { plain }) };
}

/** `before`: what stands before the comma of a `data:` URL. */
function mediaInUrl(value: Payload, before: string, around: Around, read: boolean): Media {
  const kind = mediaKind(before) ?? around.kind ?? 'file';
  const from = before.length + 1;
  const plain = around.plain || isPlain(before);
  if (before.endsWith(';base64')) return mediaOfKind({ ...around, kind, plain }, value, from, read);
  return { ...mediaElsewhere(kind, around.detail), bytes: value.length - from, ...(kind === 'file' && plain && { plain }) };
}

function isReference(key: string, head: string): boolean {
  return key === 'file_id' || key.toLowerCase().endsWith('uri') || key.endsWith('url') || head.startsWith('http');
}


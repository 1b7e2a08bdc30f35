import { describe, expect, it } from 'vitest';
import type { Media } from '../../../../src/domain/request.js';
import { parseBody, type Json, type JsonObject } from '../../../../src/wire/json/json.js';
import { PromptCollector } from '../../../../src/wire/prompt/collector.js';

/** Media of a message with these blocks, once parsed as a whole and once without its long strings. */
function mediaOf(...content: Json[]): readonly Media[] {
  const bytes = Buffer.from(JSON.stringify({ content }));
  const [full, condensed] = [Infinity, 0].map((above) => {
    const parsed = parseBody(bytes, above);
    if (!parsed.ok) throw new Error(parsed.fault.message);
    const prompt = new PromptCollector(undefined, parsed.texts);
    prompt.message(parsed.value);
    expect(prompt.content.text.reduce((sum, count) => sum + count, 0)).toBe(0);
    return prompt.content.media;
  });
  expect(condensed).toEqual(full);
  return full!;
}

/** A file whose first bytes these are, in base64. */
function file(head: readonly number[] | string, length = 3000): string {
  const bytes = Buffer.alloc(length);
  Buffer.from(typeof head === 'string' ? Buffer.from(head, 'latin1') : head).copy(bytes);
  return bytes.toString('base64');
}

const png = file([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52, 0, 0, 0x04, 0, 0, 0, 0x02, 0x58]);
const gif = file(`GIF89a\x40\x01\xf0\x00`);
const bmp = file([0x42, 0x4d, ...Array<number>(16).fill(0), 0x20, 3, 0, 0, 0xa8, 0xfd, 0xff, 0xff]);
const lossy = file(`RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x90\x01\x2c\x01`);
const lossless = file(`RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x8f\xc1\x4a\x00`);
const extended = file(`RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x8f\x01\x00\x2b\x01\x00`);
/** Metadata of so many bytes before the frame header, as cameras write it. */
const jpeg = (metadata: number) =>
  file(Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe1, metadata >> 8, metadata & 255]), Buffer.alloc(metadata - 2), Buffer.from([0xff, 0xff, 0xc2, 0, 17, 8, 0x02, 0x58, 0x04, 0])]).toString('latin1'), 70_000);

describe('a picture tells its size by its own header', () => {
  it.each([
    ['PNG', png, 1024, 600],
    ['GIF', gif, 320, 240],
    ['BMP, written from top to bottom', bmp, 800, 600],
    ['WebP, lossy', lossy, 400, 300],
    ['WebP, lossless', lossless, 400, 300],
    ['WebP, extended', extended, 400, 300],
    ['JPEG', jpeg(16), 1024, 600],
    ['JPEG behind 60 KB of metadata', jpeg(60_000), 1024, 600],
    ['JPEG cut off', file([0xff, 0xd8, 0xff, 0xe0, 0xff]), null, null],
    ['PNG of no height', file([0x89, 0x50, 0x4e, 0x47, ...Array<number>(14).fill(0), 4]), null, null],
    ['something else', file('what is this'), null, null],
  ])('%s', (_, data, widthPx, heightPx) => {
    for (const block of [
      { type: 'image_url', image_url: { url: `data:image/x;base64,${data}` } },
      { type: 'input_image', image_url: `data:image/x;base64,${data}` },
      { type: 'image', source: { type: 'base64', media_type: 'image/x', data } },
      { image: { format: 'x', source: { bytes: data } } },
      { inlineData: { mimeType: 'image/x', data } },
      { images: [data] },
    ]) {
      expect(mediaOf(block)).toMatchObject([{ kind: 'image', widthPx, heightPx, seconds: null }]);
    }
  });

  it('however its address is escaped', () => {
    const json = `{"content":[{"type":"image_url","image_url":"\\u0064ata:image\\/png;base64,${png.replaceAll('/', '\\/')}"}]}`;
    for (const above of [0, Infinity]) {
      const parsed = parseBody(Buffer.from(json), above);
      const prompt = new PromptCollector(undefined, parsed.ok ? parsed.texts : undefined);
      if (parsed.ok) prompt.message(parsed.value);
      expect(prompt.content.media).toMatchObject([{ kind: 'image', widthPx: 1024, heightPx: 600 }]);
    }
  });
});

describe('what else is known of media', () => {
  it('how closely a picture is to be looked at', () => {
    const looked = (detail: Json, beside?: Json) => mediaOf({ type: 'image_url', detail: beside, image_url: { url: `data:image/png;base64,${png}`, detail } });
    expect(['low', 'high', 'auto', null, 5].map((detail) => looked(detail)[0]?.detail)).toEqual(['low', 'high', null, null, null]);
    expect(looked(undefined, 'low')[0]?.detail).toBe('low');
    expect(mediaOf({ type: 'input_image', detail: 'high', image_url: 'https://a.example/b.png' })).toMatchObject([{ bytes: null, detail: 'high' }]);
  });

  it('how long a WAV sound is; not of one that tells it at its end', () => {
    const second = 16_000;
    const wav = file(`RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data`, 44 + 3 * second);
    expect(mediaOf({ type: 'input_audio', input_audio: { data: wav, format: 'wav' } })).toMatchObject([{ kind: 'audio', seconds: 3 }]);
    expect(mediaOf({ type: 'input_audio', input_audio: { data: file('ID3\x04'), format: 'mp3' } })).toMatchObject([{ kind: 'audio', seconds: null }]);
    expect(mediaOf({ type: 'input_audio', input_audio: { data: file('RIFF\0\0\0\0WAVEfmt '), format: 'wav' } })).toMatchObject([{ kind: 'audio', seconds: null }]);
  });

  it('media that an API has outside of messages', () => {
    const prompt = new PromptCollector();
    prompt.media('image', [png, `data:image/gif;base64,${gif}`, 'https://a.example/b.png', 5, null]);
    expect(prompt.content.media).toMatchObject([{ bytes: 3000, widthPx: 1024 }, { bytes: 3000, widthPx: 320 }, { bytes: null }]);
  });

  it('of thousands of pictures only that they are there', () => {
    const block: JsonObject = { type: 'image_url', image_url: `data:image/png;base64,${png.slice(0, 80)}` };
    const media = mediaOf(...Array.from({ length: 601 }, () => block));
    expect(media[599]?.widthPx).toBe(1024);
    expect(media[600]).toMatchObject({ kind: 'image', bytes: 60, widthPx: null });
  });
});

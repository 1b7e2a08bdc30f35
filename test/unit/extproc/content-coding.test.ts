import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { codingsOf, createDecoder, decodeWhole } from '../../../src/extproc/content-coding.js';

const TEXT = Buffer.from(JSON.stringify({ model: 'm', text: 'zwölf Boxkämpfer 🥊 '.repeat(400), noise: Array.from({ length: 500 }, (_, i) => (i * 7919) % 1009) }));
// One raw-literal zstd frame (RFC 8878): magic, single segment with a 1-byte size, one last raw block.
const zstd = (text: string) => Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x20, text.length, (text.length << 3) | 1, text.length >> 5, 0]), Buffer.from(text)]);
const CODINGS: [string, Buffer][] = [
  ['gzip', gzipSync(TEXT)], ['x-gzip', gzipSync(TEXT)], ['deflate', deflateSync(TEXT)], ['deflate', deflateRawSync(TEXT)], ['br', brotliCompressSync(TEXT)],
  ['gzip, br', brotliCompressSync(gzipSync(TEXT))],
];

describe('compressed request bodies (mlflow/mlflow#24573)', () => {
  it.each(CODINGS)('%s is decoded', async (encoding, bytes) => {
    expect(await decodeWhole(bytes, encoding, 1_000_000)).toEqual({ ok: true, body: TEXT });
  });

  it('zstd and identity are decoded', async () => {
    expect(String((await decodeWhole(zstd('{"a":1}'), 'zstd', 100) as { body: Buffer }).body)).toBe('{"a":1}');
    expect(await decodeWhole(TEXT, 'identity', 10)).toEqual({ ok: true, body: TEXT });
    expect(await decodeWhole(TEXT, undefined, 10)).toEqual({ ok: true, body: TEXT });
  });

  it('zstd headers that claim a huge window are refused before anything is allocated', async () => {
    const claimed = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa0, 0x01, 0, 0]);
    expect(await decodeWhole(claimed, 'zstd', 1000)).toEqual({ ok: false, why: 'corrupt' });
    expect(await decodeWhole(Buffer.concat([zstd('{"a":1}'), claimed]), 'zstd', 1000)).toEqual({ ok: false, why: 'corrupt' });
    expect((await decodeWhole(Buffer.concat([zstd('{"a":'), zstd('1}')]), 'zstd', 1000)).ok).toBe(true);
  });

  it.each(['gzip', 'br'])('a %s body that inflates beyond the bound is too large, whatever it would come to', async (encoding) => {
    const zeros = Buffer.alloc(8 * 1024 * 1024);
    const bomb = encoding === 'gzip' ? gzipSync(zeros) : brotliCompressSync(zeros);
    expect(await decodeWhole(bomb, encoding, 1_000_000)).toEqual({ ok: false, why: 'too_large' });
  });

  it.each(['gzip', 'deflate', 'br', 'zstd'])('bytes that are not %s are corrupt', async (encoding) => {
    expect(await decodeWhole(Buffer.from('plain text, no coding at all'), encoding, 1000)).toEqual({ ok: false, why: 'corrupt' });
    expect((await decodeWhole(Buffer.alloc(0), encoding, 1000)).ok).toBe(false);
  });

  it('unknown codings and long lists of them are not tried', async () => {
    expect(codingsOf('snappy')).toBeNull();
    expect(codingsOf('gzip,gzip,gzip')).toBeNull();
    expect(codingsOf(' GZIP , identity')).toEqual(['gzip']);
    expect(await decodeWhole(TEXT, 'snappy', 1000)).toEqual({ ok: false, why: 'unsupported' });
  });
});

describe('compressed answers', () => {
  it.each(CODINGS)('%s is decoded as it comes, cut anywhere', async (encoding, bytes) => {
    for (const step of [1, 7, 1000]) {
      const decoder = createDecoder(codingsOf(encoding)!, 10_000_000);
      const out: Buffer[] = [];
      for (let i = 0; i < bytes.length; i += step) out.push(await decoder.push(bytes.subarray(i, i + step)));
      out.push(await decoder.end());
      decoder.close();
      expect(Buffer.concat(out).equals(TEXT)).toBe(true);
    }
  });

  it('a stream that is cut gives what came until then', async () => {
    const bytes = gzipSync(TEXT);
    const decoder = createDecoder(['gzip'], 10_000_000);
    const part = await decoder.push(bytes.subarray(0, bytes.length - 20));
    const rest = await decoder.end().catch(() => Buffer.alloc(0));
    expect(TEXT.subarray(0, part.length + rest.length).equals(Buffer.concat([part, rest]))).toBe(true);
    expect(part.length).toBeGreaterThan(100);
  });
});

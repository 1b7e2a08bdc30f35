import { describe, expect, it } from 'vitest';
import type { ResponseReader } from '../../../../src/domain/wire.js';
import { bedrockConverse, bedrockInvoke } from '../../../../src/wire/bedrock/bedrock.js';
import { figuresOf, recordings, totalsOf, type Recording } from '../recorded.js';

const RECORDED = recordings(/^bedrock-(converse|invoke)\/.*\.bin$/);
const WHERE = RECORDED.length === 0 ? ' (skipped: ../shared is missing)' : '';
const CLAUDE = 'anthropic.claude-3-sonnet-20240229-v1:0';
const PROFILE = 'arn:aws:bedrock:us-east-1:000000000000:application-inference-profile/abc123';

function readerOf(file: string, model = file.includes('claude') ? CLAUDE : 'amazon.nova-lite-v1:0'): ResponseReader {
  const api = file.startsWith('bedrock-converse') ? bedrockConverse(model, true) : bedrockInvoke(model, true);
  return api.responseReader({ framing: 'eventstream', hideUsage: false });
}

function read({ file }: Recording, pieces: readonly Buffer[], model?: string): ResponseReader {
  const reader = readerOf(file, model);
  for (const piece of pieces) if (reader.push(piece) !== piece) expect.fail('the bytes must pass untouched');
  reader.end();
  return reader;
}

/** Each byte once; longer recordings are cut in every frame at the same time. */
function cutInTwo(bytes: Buffer): Buffer[][] {
  return bytes.length > 3000 ? [] : Array.from({ length: bytes.length }, (_, cut) => [bytes.subarray(0, cut), bytes.subarray(cut)]);
}

/** All frames cut at the same offset, for every offset: each byte of the recording is a cut of one of these; above 64 KB every seventh. */
function cutInEveryFrame(bytes: Buffer): Buffer[][] {
  const starts: number[] = [];
  for (let at = 0; at < bytes.length; at += bytes.readUInt32BE(at)) starts.push(at);
  const longest = Math.max(...starts.map((start) => bytes.readUInt32BE(start)));
  const step = bytes.length > 64 * 1024 ? 7 : 1;
  return Array.from({ length: Math.ceil(longest / step) }, (_, index) => index * step).map((offset) => {
    const cuts = starts.filter((start) => offset < bytes.readUInt32BE(start)).map((start) => start + offset);
    return [0, ...cuts].map((cut, index) => bytes.subarray(cut, cuts[index] ?? bytes.length));
  });
}

describe.skipIf(RECORDED.length === 0)(`recorded answers of Bedrock${WHERE}`, () => {
  it('are there', () => {
    expect(RECORDED.map(({ file }) => file)).toHaveLength(6);
  });

  it.each(RECORDED.map((recording) => [recording.file, recording] as const))('%s: the totals and the texts, at every cut', (_, recording) => {
    const { bytes, expected, chars } = recording;
    const { reading } = read(recording, [bytes]);
    expect(totalsOf(reading)).toMatchObject(expected);
    expect(reading).toMatchObject({ complete: true, unreadable: false, sawError: false, sawOutput: true });
    expect(reading.outputPieces).toBeGreaterThan(chars / 100);
    const figures = figuresOf(reading);
    for (const pieces of [...cutInTwo(bytes), ...cutInEveryFrame(bytes)]) {
      if (figuresOf(read(recording, pieces).reading) !== figures) expect.fail(`other figures when cut into ${pieces.map(({ length }) => length).slice(0, 3).join(', ')}…`);
    }
  }, 60_000);

  it.each(RECORDED.map((recording) => [recording.file, recording] as const))('%s: the same byte by byte', (_, recording) => {
    const { bytes } = recording;
    const single = read(recording, Array.from({ length: bytes.length }, (_unused, at) => bytes.subarray(at, at + 1)));
    expect(figuresOf(single.reading)).toBe(figuresOf(read(recording, [bytes]).reading));
  });

  it.each(RECORDED.filter(({ file }) => file.startsWith('bedrock-invoke')).map((recording) => [recording.file, recording] as const))(
    '%s: the same totals where the id does not tell the family',
    (_, recording) => {
      expect(totalsOf(read(recording, [recording.bytes], PROFILE).reading)).toMatchObject(recording.expected);
    },
  );

  it('tell no usage when they are cut before it, and that something is missing', () => {
    const recording = RECORDED.find(({ file }) => file.includes('haiku45'))!;
    const { reading } = read(recording, [recording.bytes.subarray(0, 60_000)]);
    expect(reading).toMatchObject({ usage: null, complete: false, unreadable: true, sawOutput: true });
  });
});

describe.skipIf(RECORDED.length === 0)(`a refusal of Bedrock's own${WHERE}`, () => {
  it('error-400-validation.json: an error, no usage, no output', () => {
    const [{ bytes } = { bytes: Buffer.alloc(0) }] = recordings(/^bedrock-converse\/error-400-validation\.json$/);
    for (const api of [bedrockConverse('m', true), bedrockInvoke('m', true), bedrockInvoke(CLAUDE, true)]) {
      const reader = api.responseReader({ framing: 'json', hideUsage: false });
      reader.push(bytes);
      reader.end();
      expect(reader.reading).toMatchObject({ sawError: true, usage: null, sawOutput: false });
    }
  });
});

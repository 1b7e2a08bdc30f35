import { describe, expect, it } from 'vitest';
import type { ResponseReader, ResponseReading } from '../../../src/domain/wire.js';
import { EventStreamFrames } from '../../../src/wire/stream/eventstream.js';
import { feed } from './feed.js';
import { fixtures, frames, WHERE, type Fixture } from './handed.js';
import { factsOf } from './plain-reader.js';

/** Longer recordings are cut at some places, always the same. */
const EVERY_BYTE_UP_TO = 64 * 1024;
const SOME_CUTS = 400;
/** Cuts in one run are so far apart: between two of them is far more than one event. */
const APART_BYTES = 4096;
const TIMEOUT_MS = 120_000;

const named = fixtures.map((fixture) => [fixture.file, fixture] as const);

function readerOf({ api, framing }: Fixture): ResponseReader {
  // Events are hidden where the API has some that only our own edit causes.
  return api.responseReader({ framing, hideUsage: framing === 'sse' && api.api.startsWith('openai') });
}

function totalsOf({ usage }: ResponseReading): Record<string, number | undefined> {
  return { input_total: usage?.inputTokens, cache_read: usage?.cachedInputTokens, cache_write: usage?.cacheWriteTokens, output_total: usage?.outputTokens, reasoning: usage?.reasoningTokens };
}

/** What the manifest says and the reading does not; null where it is right. */
function wrongTotal({ expect: wanted }: Fixture, reading: ResponseReading): string | null {
  if ('usage' in wanted) return reading.usage === null ? null : 'usage is not null';
  const told = totalsOf(reading);
  const wrong = Object.keys(told).find((field) => typeof wanted[field] === 'number' && told[field] !== wanted[field]);
  return wrong === undefined ? null : `${wrong}: ${told[wrong]} and not ${String(wanted[wrong])}`;
}

/** Where to cut, run by run: at each byte in one of them. */
function* cutsOf(length: number): Generator<readonly number[]> {
  if (length > EVERY_BYTE_UP_TO) for (let i = 0, seed = 1; i < SOME_CUTS; i++) yield [(seed = (seed * 48_271) % 2_147_483_647) % length];
  else for (let first = 0; first < Math.min(length, APART_BYTES); first++) yield Array.from({ length: Math.ceil((length - first) / APART_BYTES) }, (_, index) => first + index * APART_BYTES);
}

function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  return [...cuts, bytes.length].map((end, index) => bytes.subarray(cuts[index - 1] ?? 0, end));
}

function sameOutput(a: ResponseReading, b: ResponseReading): boolean {
  return a.outputPieces === b.outputPieces && a.output.every((count, feature) => count === b.output[feature]);
}

describe.skipIf(fixtures.length === 0)(`recorded answers${WHERE}`, () => {
  it('are there', () => {
    expect(fixtures.length).toBeGreaterThan(40);
  });

  it.each(named)('%s: the totals, at every cut', { timeout: TIMEOUT_MS }, (_, fixture) => {
    const { bytes } = fixture;
    const whole = readerOf(fixture);
    const passed = feed(whole, [bytes]);
    expect(wrongTotal(fixture, whole.reading)).toBeNull();
    expect(whole.reading).toMatchObject({ unreadable: false, sawError: fixture.expect['stream_outcome'] === 'error' });
    for (const cuts of cutsOf(bytes.length)) {
      const reader = readerOf(fixture);
      const got = Buffer.concat([...cutAt(bytes, cuts).map((piece) => reader.push(piece)), reader.end()]);
      const wrong = wrongTotal(fixture, reader.reading) ?? (sameOutput(reader.reading, whole.reading) ? null : 'other output') ?? (got.equals(passed) ? null : 'other bytes');
      if (wrong !== null) expect.fail(`${wrong} when cut at ${cuts.join()}`);
    }
  });

  it.each(named)('%s: the same in all, byte by byte', (_, fixture) => {
    const [reader, whole] = [readerOf(fixture), readerOf(fixture)];
    const passed = feed(whole, [fixture.bytes]);
    expect(feed(reader, Array.from(fixture.bytes, (_byte, at) => fixture.bytes.subarray(at, at + 1))).equals(passed)).toBe(true);
    expect(wrongTotal(fixture, reader.reading)).toBeNull();
    expect(factsOf(reader.reading)).toEqual(factsOf(whole.reading));
  });

  it.each(named)('%s: the request it answers is read', (_, { request, api }) => {
    if (request !== null) expect(api.parseRequest(request)).toMatchObject({ ok: true });
  });

  it('end as they should', () => {
    const endOf = (name: string) => {
      const fixture = fixtures.find(({ file }) => file.endsWith(name))!;
      const reader = readerOf(fixture);
      feed(reader, [fixture.bytes]);
      return reader.reading;
    };
    expect(endOf('gpustack-qwen3-reasoning-no-done.sse')).toMatchObject({ complete: true, sawError: false });
    expect(endOf('openrouter-mid-stream-error.sse').sawError).toBe(true);
    expect(endOf('gpt5nano-length-all-reasoning.sse')).toMatchObject({ complete: true, sawOutput: false });
    expect(endOf('model-router.chunks.txt').model).toBe('gpt-5-nano-2025-08-07');
  });
});

describe.skipIf(frames.length === 0)(`frames of an event stream${WHERE}`, () => {
  it.each(frames.map((frame) => [frame.file, frame] as const))('%s: taken or not, at every cut', (_, { bytes, sound }) => {
    for (let cut = 0; cut <= bytes.length; cut++) {
      const stream = new EventStreamFrames();
      const count = stream.push(bytes.subarray(0, cut)).length + stream.push(bytes.subarray(cut)).length;
      expect({ failed: stream.failed, count }, `cut at ${cut}`).toEqual({ failed: !sound, count: sound ? 1 : 0 });
    }
  });
});

import { describe, expect, it } from 'vitest';
import type { ResponseReading } from '../../../src/domain/wire.js';
import { feed, sseReader } from './feed.js';
import { fixtures, WHERE, type Fixture } from './handed.js';

/** Longer recordings are cut at as many places as keep this file quick. */
const EVERY_BYTE_UP_TO = 8_000;

function expectTotals({ expect: wanted, file }: Fixture, reading: ResponseReading): void {
  if ('usage' in wanted) {
    expect(reading.usage, file).toBeNull();
    return;
  }
  const { usage } = reading;
  const told = { input_total: usage?.inputTokens, cache_read: usage?.cachedInputTokens, cache_write: usage?.cacheWriteTokens, output_total: usage?.outputTokens, reasoning: usage?.reasoningTokens };
  for (const [field, value] of Object.entries(told)) if (typeof wanted[field] === 'number') expect(value, `${file} ${field}`).toBe(wanted[field]);
}

function cutsOf({ length }: Buffer): number[] {
  const step = length <= EVERY_BYTE_UP_TO ? 1 : 13;
  return Array.from({ length: Math.ceil(length / step) }, (_, index) => index * step);
}

describe.skipIf(fixtures.length === 0)(`recorded answers${WHERE}`, () => {
  it('are there', () => {
    expect(fixtures.length).toBeGreaterThan(10);
  });

  it.each(fixtures.map((fixture) => [fixture.file, fixture] as const))('%s: the totals, at every cut', (_, fixture) => {
    const { bytes } = fixture;
    const whole = sseReader(true);
    const passed = feed(whole, [bytes]).toString('latin1');
    expectTotals(fixture, whole.reading);
    expect(whole.reading.unreadable).toBe(false);
    for (const cut of cutsOf(bytes)) {
      const reader = sseReader(true);
      const got = feed(reader, [bytes.subarray(0, cut), bytes.subarray(cut)]).toString('latin1');
      expectTotals(fixture, reader.reading);
      if (got !== passed) expect.fail(`other bytes when cut at ${cut}`);
      if (reader.reading.output.letters !== whole.reading.output.letters) expect.fail(`other output when cut at ${cut}`);
    }
  });

  it.each(fixtures.map((fixture) => [fixture.file, fixture] as const))('%s: the totals, byte by byte', (_, fixture) => {
    const reader = sseReader(false);
    for (let at = 0; at < fixture.bytes.length; at++) reader.push(fixture.bytes.subarray(at, at + 1));
    reader.end();
    expectTotals(fixture, reader.reading);
  });

  it('end as they should', () => {
    const endOf = (name: string) => {
      const reader = sseReader();
      feed(reader, [fixtures.find(({ file }) => file.endsWith(name))?.bytes ?? '']);
      return reader.reading;
    };
    expect(endOf('gpustack-qwen3-reasoning-no-done.sse')).toMatchObject({ complete: true, sawError: false });
    expect(endOf('openrouter-mid-stream-error.sse').sawError).toBe(true);
    expect(endOf('gpt5nano-length-all-reasoning.sse')).toMatchObject({ complete: true, sawOutput: false });
    expect(endOf('model-router.chunks.txt').model).toBe('gpt-5-nano-2025-08-07');
  });
});

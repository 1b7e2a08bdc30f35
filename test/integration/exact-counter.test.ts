import { afterEach, describe, expect, it } from 'vitest';
import type { ExactCounter } from '../../src/domain/exact.js';
import type { createExactCounter as create } from '../../src/counting/exact-counter.js';
import { boundedRuns } from '../../src/counting/runs.js';
import { systemClock } from '../../src/lib/clock.js';

// The worker is a file of its own: only the built program has it as JavaScript.
const { createExactCounter } = (await import('../../dist/counting/exact-counter.js' as string)) as { createExactCounter: typeof create };

const LONG_ENOUGH_MS = 20_000;

describe('exact counting in a thread of its own', () => {
  const faults: unknown[] = [];
  let counter: ExactCounter;
  const make = (): ExactCounter => (counter = createExactCounter({ clock: systemClock, onFault: (error) => faults.push(error) }));
  afterEach(() => counter.close());

  it('counts by OpenAI’s own tokenizer, and takes its marks for plain text', async () => {
    make();
    expect(await counter.count('hello world', LONG_ENOUGH_MS)).toBe(2);
    expect(await counter.count('', LONG_ENOUGH_MS)).toBe(0);
    expect(await counter.count('<|endoftext|>', LONG_ENOUGH_MS)).toBeGreaterThan(1);
  });

  it('counts long runs of one kind, which tokenizers are quadratic at', async () => {
    make();
    for (const text of ['a'.repeat(200_000), '\u00e9'.repeat(100_000), ' '.repeat(200_000), '='.repeat(200_000)]) {
      expect(await counter.count(text, LONG_ENOUGH_MS)).toBeGreaterThan(100);
    }
    expect(faults).toEqual([]);
  });

  it('is not waited for beyond the time limit, and answers the next one all the same', async () => {
    make();
    // The thread has not even begun.
    expect(await counter.count('hello world '.repeat(10_000), 1)).toBeNull();
    expect(await counter.count('hello world', LONG_ENOUGH_MS)).toBe(2);
  });

  it('takes a bounded number at a time, and none after its end', async () => {
    make();
    const answers = await Promise.all(Array.from({ length: 200 }, () => counter.count('hello world', LONG_ENOUGH_MS)));
    expect(answers.filter((tokens) => tokens === 2).length).toBeGreaterThan(10);
    expect(answers.filter((tokens) => tokens === null).length).toBeGreaterThan(100);
    await counter.close();
    expect(await counter.count('hello world', LONG_ENOUGH_MS)).toBeNull();
  });
});

it('pieces of bounded runs are the text, and cut no character', () => {
  for (const text of ['', 'a'.repeat(1000), '\u{1f600}'.repeat(500), 'ab 12 '.repeat(100), `${' '.repeat(300)}x`]) {
    const pieces = [...boundedRuns(text)];
    expect(pieces.join('')).toBe(text);
    for (const piece of pieces) expect(Buffer.from(piece).toString()).toBe(piece);
  }
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BatchingSpec, Sequence } from '../../../src/sim/engine.js';
import { BatchingNode } from '../../../src/sim/engine-batching.js';
import { NodeRun, sequence } from './support.js';

const SPEC: BatchingSpec = {
  ...{ kind: 'batching', slots: 4, kvTokens: null, blockTokens: 16, prefillTokensPerSecond: 1000, maxBatchedTokens: 512 },
  ...{ stepMs: 10, perSequenceMs: 2, perKvTokenMs: 0 },
};

function run(spec: Partial<BatchingSpec> = {}): NodeRun {
  return new NodeRun((host) => new BatchingNode({ ...SPEC, ...spec }, 0, host));
}

describe('a node with continuous batching', () => {
  it('takes the prompt in one step, which makes the first token, then a step a token', () => {
    const it = run();
    const alone = sequence(100, 11);
    it.node.submit(alone, 0);
    it.until(1e6);
    expect(it.firstTokenMs.get(alone)).toBeCloseTo(10 + 100, 3);
    expect(it.finishedMs.get(alone)).toBeCloseTo(110 + 10 * 12, 3);
  });

  it('computes only what is not cached of a prompt', () => {
    const it = run();
    const warm = sequence(100, 1, 0, 80);
    it.node.submit(warm, 0);
    it.until(1e6);
    expect(it.firstTokenMs.get(warm)).toBeCloseTo(10 + 20, 3);
    expect(it.finishedMs.get(warm)).toBe(it.firstTokenMs.get(warm));
  });

  it('gets slower with each sequence in the batch', () => {
    const it = run({ prefillTokensPerSecond: 1e9 });
    const all = Array.from({ length: 4 }, () => sequence(1, 101));
    all.forEach((one) => it.node.submit(one, 0));
    it.until(1e6);
    for (const one of all) expect(it.finishedMs.get(one)).toBeCloseTo(10 + 100 * (10 + 4 * 2), 0);
  });

  it('gets slower with what is in the KV cache, also while it grows', () => {
    const it = run({ perKvTokenMs: 0.01, prefillTokensPerSecond: 1e9, blockTokens: 0 });
    const long = sequence(1000, 1001);
    it.node.submit(long, 0);
    it.until(1e9);
    // 1,000 steps of 12 ms + 0.01 ms × (1,000 … 2,000 tokens).
    expect(it.finishedMs.get(long)! - it.firstTokenMs.get(long)!).toBeCloseTo(1000 * (12 + 0.01 * 1500), -1);
  });

  it('shares its steps between decode and pieces of a long prompt', () => {
    const it = run();
    const [decoding, prompt] = [sequence(1, 1000), sequence(2048, 1)];
    it.node.submit(decoding, 0);
    it.until(1000);
    const before = it.node.progress(decoding, 1000);
    it.node.submit(prompt, 1000);
    it.until(1e6);
    // Pieces of 511 tokens: four steps, each of which also makes a token for the other, and one of 4 tokens.
    expect(it.firstTokenMs.get(prompt)).toBeCloseTo(1000 + 4 * (12 + 511) + (12 + 4), -1);
    expect(before).toBeCloseTo(1 + (1000 - 11) / 12, 1);
  });

  it('runs no more than its slots, and takes the next in order of coming', () => {
    const it = run({ slots: 1, prefillTokensPerSecond: 1e9 });
    const all = [sequence(1, 11), sequence(1, 11), sequence(1, 11)];
    all.forEach((one) => it.node.submit(one, 0));
    expect([it.node.running, it.node.queued]).toEqual([1, 2]);
    it.until(1e6);
    const ends = all.map((one) => it.finishedMs.get(one)!);
    expect(ends[1]! - ends[0]!).toBeCloseTo(ends[0]!, 3);
    expect(ends[2]! - ends[1]!).toBeCloseTo(ends[0]!, 3);
  });

  it('preempts the youngest when the KV cache is full, and computes it again', () => {
    const it = run({ kvTokens: 300, blockTokens: 0, prefillTokensPerSecond: 1e9 });
    const [old, young] = [sequence(100, 120), sequence(100, 120)];
    it.node.submit(old, 0);
    it.node.submit(young, 1);
    it.until(1e6);
    expect(it.node.preemptions).toBe(1);
    expect(it.finishedMs.get(young)!).toBeGreaterThan(it.finishedMs.get(old)!);
    // Its first token came once.
    expect(it.firstTokenMs.get(young)!).toBeLessThan(20);
    expect(it.failedMs.size).toBe(0);
  });

  it('fails what can never fit', () => {
    const it = run({ kvTokens: 100, blockTokens: 0 });
    const [large, grown, fits] = [sequence(200, 1), sequence(50, 200), sequence(10, 10)];
    [large, grown, fits].forEach((one) => it.node.submit(one, 0));
    it.until(1e6);
    expect([...it.failedMs.keys()]).toEqual([large, grown]);
    expect(it.finishedMs.has(fits)).toBe(true);
  });

  it('lets a client leave from the queue, the prefill and the decode, and says what was made', () => {
    const it = run({ slots: 2 });
    const [decoding, prefilling, queued] = [sequence(1, 1000), sequence(500, 10), sequence(5, 5)];
    it.node.submit(decoding, 0);
    it.until(131);
    [prefilling, queued].forEach((one) => it.node.submit(one, 131));
    expect(it.node.abort(queued, 132)).toBe(0);
    expect(it.node.abort(prefilling, 133)).toBe(0);
    expect(it.node.abort(decoding, 133)).toBeCloseTo(1 + (131 - 11) / 12, 1);
    it.until(1e6);
    expect([it.node.running, it.node.queued, it.finishedMs.size]).toEqual([0, 0, 0]);
  });

  it('loses all it has with its node, and takes no more while it drains', () => {
    const it = run({ slots: 1 });
    const [running, waiting, later] = [sequence(1, 1000), sequence(1, 10), sequence(1, 10)];
    [running, waiting].forEach((one) => it.node.submit(one, 0));
    it.until(50);
    it.node.lose(50);
    expect([...it.failedMs]).toEqual([[running, 50], [waiting, 50]]);
    it.node.submit(later, 60);
    it.until(1e5);
    expect(it.finishedMs.has(later)).toBe(false);
    it.node.setSlots(1, 1e5);
    it.until(1e6);
    expect(it.finishedMs.has(later)).toBe(true);
  });

  it('makes every token of every sequence, whatever comes between (against a simulation step by step)', () => {
    const one = fc.record({ gap: fc.integer({ min: 0, max: 400 }), prompt: fc.integer({ min: 1, max: 300 }), output: fc.integer({ min: 1, max: 60 }) });
    fc.assert(
      fc.property(fc.array(one, { minLength: 1, maxLength: 25 }), (jobs) => {
        const spec = { ...SPEC, prefillTokensPerSecond: 20_000, perKvTokenMs: 0.001 };
        const it = new NodeRun((host) => new BatchingNode(spec, 0, host));
        let at = 0;
        const arrivals = jobs.map(({ gap, prompt, output }) => ({ atMs: (at += gap), one: sequence(prompt, output) }));
        for (const { atMs, one: job } of arrivals) {
          it.until(atMs);
          it.node.submit(job, atMs);
        }
        it.until(1e9);
        const truth = stepByStep(spec, arrivals);
        const latency = (ends: ReadonlyMap<Sequence, number>): number => arrivals.reduce((sum, { atMs, one: job }) => sum + ends.get(job)! - atMs, 0) / jobs.length;
        expect(it.finishedMs.size).toBe(jobs.length);
        // Real steps are whole: who comes within one waits for the next.
        expect(Math.abs(latency(it.finishedMs) - latency(truth))).toBeLessThan(0.05 * latency(truth) + spec.stepMs + 4 * spec.perSequenceMs);
      }),
      { numRuns: 100 },
    );
  });

  it('has events for changes of the batch, not for tokens', () => {
    const it = run();
    for (let i = 0; i < 100; i++) it.node.submit(sequence(10, 5000), 0);
    it.until(1e9);
    expect(it.finishedMs.size).toBe(100);
    expect(it.events).toBeLessThan(600);
  });
});

/** The engine as it is: one step after the other. */
function stepByStep(spec: BatchingSpec, arrivals: readonly { readonly atMs: number; readonly one: Sequence }[]): Map<Sequence, number> {
  const ends = new Map<Sequence, number>();
  const coming = [...arrivals];
  const running: { one: Sequence; prefillLeft: number; made: number }[] = [];
  for (let now = 0; ends.size < arrivals.length; ) {
    while (coming.length > 0 && coming[0]!.atMs <= now && running.length < spec.slots) {
      const { one } = coming.shift()!;
      running.push({ one, prefillLeft: one.promptTokens, made: 0 });
    }
    if (running.length === 0) {
      now = coming[0]!.atMs;
      continue;
    }
    const decoding = running.filter(({ prefillLeft }) => prefillLeft === 0);
    let budget = spec.maxBatchedTokens - decoding.length;
    const kv = running.reduce((sum, { one, made }) => sum + one.promptTokens + made + spec.blockTokens / 2, 0);
    let prefilled = 0;
    const first: typeof running = [];
    for (const job of running) {
      if (job.prefillLeft === 0) continue;
      const piece = Math.min(budget, job.prefillLeft);
      budget -= piece;
      prefilled += piece;
      job.prefillLeft -= piece;
      if (job.prefillLeft === 0) first.push(job);
    }
    now += spec.stepMs + spec.perSequenceMs * decoding.length + spec.perKvTokenMs * kv + (prefilled * 1000) / spec.prefillTokensPerSecond;
    for (const job of [...decoding, ...first]) {
      job.made++;
      if (job.made < job.one.outputTokens) continue;
      ends.set(job.one, now);
      running.splice(running.indexOf(job), 1);
    }
  }
  return ends;
}

import { expect, test } from 'vitest';
import { VirtualClock } from '../../../src/lib/virtual-clock.js';
import { Engine } from '../../../src/upstream/engine.js';
import { DEFAULT_TIMING } from '../../../src/upstream/options.js';

const never = new AbortController().signal;
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('prompts are read one after the other, at the configured rate', async () => {
  const clock = new VirtualClock();
  const engine = new Engine({ ...DEFAULT_TIMING, prefillTokensPerSecond: 1_000 }, clock);
  const doneAtMs: number[] = [];
  for (const tokens of [500, 250]) void engine.prefill(tokens, never).then(() => doneAtMs.push(clock.nowMs()));
  for (let ms = 0; ms < 1_000; ms += 50) {
    clock.advance(50);
    await settle();
  }
  expect(doneAtMs).toEqual([500, 750]);
});

test('tokens come more slowly the more sequences run; time scale 0 is instant', async () => {
  const engine = new Engine({ ...DEFAULT_TIMING, interTokenMs: 10, interTokenMsPerSequence: 2 }, new VirtualClock());
  await engine.takeSlot(never);
  expect(engine.tokenMs()).toBe(10);
  await engine.takeSlot(never);
  await engine.takeSlot(never);
  expect(engine.tokenMs()).toBe(14);
  expect(new Engine({ ...DEFAULT_TIMING, timeScale: 0 }, new VirtualClock()).tokenMs()).toBe(0);
});

test('slots are given in order of arrival, and one who left the queue gets none', async () => {
  const engine = new Engine({ ...DEFAULT_TIMING, slots: 1, maxQueued: 3 }, new VirtualClock());
  const order: string[] = [];
  const left = new AbortController();
  await engine.takeSlot(never);
  const waiting = [
    engine.takeSlot(never).then((granted) => order.push(`a ${granted}`)),
    engine.takeSlot(left.signal).then((granted) => order.push(`b ${granted}`)),
    engine.takeSlot(never).then((granted) => order.push(`c ${granted}`)),
  ];
  expect([engine.running, engine.queued, engine.isFull]).toEqual([1, 3, true]);
  left.abort();
  await settle();
  engine.releaseSlot();
  await settle();
  expect(engine.running).toBe(1);
  engine.releaseSlot();
  await Promise.all(waiting);
  expect(order).toEqual(['b false', 'a true', 'c true']);
  engine.releaseSlot();
  expect([engine.running, engine.queued, engine.mostAtOnce]).toEqual([0, 0, 4]);
});

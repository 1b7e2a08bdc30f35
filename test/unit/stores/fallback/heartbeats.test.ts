import { expect, test } from 'vitest';
import { PROCESSOR_MS } from '../../../../src/domain/store.js';
import { VirtualClock } from '../../../../src/lib/virtual-clock.js';
import { Heartbeats } from '../../../../src/stores/fallback/heartbeats.js';
import { createMemoryStore } from '../../../../src/stores/memory.js';
import { settled, T0 } from './away.js';

test('processors that start together know of each other within a quarter of a second, and beat calmly from then on', async () => {
  const clock = new VirtualClock(T0);
  const store = createMemoryStore();
  let beats = 0;
  const counted = { heartbeat: (owner: string, nowMs: number) => (beats++, store.heartbeat(owner, nowMs)) };
  const all = ['p1', 'p2', 'p3'].map((owner) => new Heartbeats({ store: counted, owner, clock, random: () => 0.5 }));
  for (const one of all) await one.start();
  expect(all.map((one) => one.count())).toEqual([1, 2, 3]);
  clock.advance(250);
  await settled();
  expect(all.map((one) => one.count())).toEqual([3, 3, 3]);
  for (let i = 0; i < 100; i++) {
    clock.advance(100);
    await settled();
  }
  beats = 0;
  for (let i = 0; i < 200; i++) {
    clock.advance(100);
    await settled();
  }
  expect(beats).toBeLessThanOrEqual((3 * 5 * 20_000) / PROCESSOR_MS);
  for (const one of all) one.stop();
});

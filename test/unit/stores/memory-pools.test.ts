import { expect, test } from 'vitest';
import { createMemoryPools } from '../../../src/stores/memory-pools.js';
import { ask, capacity, pool, T0 } from '../../conformance/pool-builders.js';

test('who listens hears of all that comes due in one moment, however many', async () => {
  const pools = createMemoryPools();
  const settings = pool({ capacity: capacity({ slots: 1 }), maxWaiting: 20_000, maxWaitingBytes: 1e9 });
  const heard = new Set<string>();
  pools.onEvent('p1', ({ leaseId }) => heard.add(leaseId));
  for (let i = 0; i <= 12_000; i++) await pools.ask(ask(`lease-${i}`, { pool: settings }));
  await pools.tick(settings, T0 + 10_000);
  for (let i = 0; i < 5; i++) await Promise.resolve();
  expect(heard.size).toBe(12_000);
  await pools.close();
});

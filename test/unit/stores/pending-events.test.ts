import { describe, expect, test } from 'vitest';
import type { StoredEvent } from '../../../src/domain/store.js';
import { createMemoryStore } from '../../../src/stores/memory.js';
import { PendingEvents } from '../../../src/stores/pending-events.js';
import { event, request, used } from '../../conformance/store-builders.js';

describe('events that wait for a sink', () => {
  test('have ids that rise whatever the clock does', () => {
    const pending = new PendingEvents(10, () => undefined);
    for (const ms of [5, 5, 7.9, 3, 8]) pending.add('acme', event('a'), ms);
    expect(pending.oldest(10).map(({ id }) => id)).toEqual(['5-0', '5-1', '7-0', '7-1', '8-0']);
  });

  test('are bounded: the oldest are lost, and that is told', () => {
    const lost: StoredEvent[] = [];
    const pending = new PendingEvents(2, (one) => lost.push(one));
    for (const id of ['a', 'b', 'c']) pending.add('acme', event(id), 1);
    expect(lost.map((one) => one.event.leaseId)).toEqual(['a']);
    expect(pending.oldest(10).map((one) => one.event.leaseId)).toEqual(['b', 'c']);
  });
});

test('a store without a sink keeps no events but the recent ones', async () => {
  const store = createMemoryStore();
  await store.reserve(request('a', 0, []));
  await store.settle('a', used(1, 1), event('a'), 0);
  expect(await store.pendingEvents(10)).toEqual([]);
  expect(await store.recentEvents(10)).toHaveLength(1);
});

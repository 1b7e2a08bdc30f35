import { expect, test } from 'vitest';
import { VirtualClock } from '../../../src/lib/virtual-clock.js';
import { openStore, type StoreObserver } from '../../../src/stores/open-store.js';
import { event, request, used } from '../../conformance/store-builders.js';

const KEPT = 100_000;

test('in memory, events beyond those that wait for the ledger are lost, and told', async () => {
  let lost = 0;
  const nothing = (): void => undefined;
  const observer: StoreObserver = { connection: nothing, storeAway: nothing, storeBack: nothing, decidedAway: nothing, journal: nothing, storeFault: nothing, eventsLost: (events) => (lost += events) };
  const ledger = { file: '/nowhere/ledger.jsonl', maxBytes: 1, keep: 1 };
  const settings = { address: { kind: 'memory' }, onFailure: 'local', timeoutMs: 50, journal: { file: null, maxBytes: 1 }, ledger } as const;
  const { store } = await openStore(settings, { clock: new VirtualClock(), random: () => 0, owner: 'p1', observer });
  for (let i = 0; i < KEPT + 7; i++) {
    await store.reserve(request(`l${i}`, i, []));
    await store.settle(`l${i}`, used(1, 1), event(`l${i}`), i);
  }
  expect(lost).toBe(7);
  expect((await store.pendingEvents(1)).map(({ event: { leaseId } }) => leaseId)).toEqual(['l7']);
}, 30_000);

import { VirtualClock } from '../../src/lib/virtual-clock.js';
import { createFallbackStore } from '../../src/stores/fallback/fallback.js';
import { Journal } from '../../src/stores/fallback/journal.js';
import { createMemoryStore } from '../../src/stores/memory.js';
import { describeStore } from './store-conformance.js';

/** With the shared store up, nothing shows that there is anything between. */
describeStore('fallback, the shared store up', async () =>
  createFallbackStore({
    store: createMemoryStore({ keepEvents: true }),
    owner: 'p1',
    clock: new VirtualClock(1_800_000_000_000),
    random: () => 0.5,
    mode: 'local',
    timeoutMs: 50,
    processors: () => 1,
    journal: new Journal({ maxEntries: 10, maxBytes: 10_000 }),
    observer: { storeAway: () => undefined, storeBack: () => undefined, decidedAway: () => undefined, journal: () => undefined, storeFault: () => undefined },
  }),
);

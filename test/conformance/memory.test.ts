import { createMemoryStore } from '../../src/stores/memory.js';
import { describeStore } from './store-conformance.js';
import { describeSharedStore } from './store-shared.js';

const make = () => createMemoryStore({ keepEvents: true });

describeStore('memory', async () => make());

// Processors in one process share the object itself.
describeSharedStore('memory', async () => {
  const store = make();
  return [store, store, store];
});

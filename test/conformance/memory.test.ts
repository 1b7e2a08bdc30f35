import { createMemoryStore } from '../../src/stores/memory.js';
import { describeStore } from './store-conformance.js';

describeStore('memory', async () => createMemoryStore());

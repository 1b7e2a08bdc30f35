import { createMemoryPools } from '../../src/stores/memory-pools.js';
import { describePools } from './pool-conformance.js';

describePools('memory', async () => createMemoryPools());

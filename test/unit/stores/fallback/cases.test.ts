import { describe, expect } from 'vitest';
import type { ReserveResult } from '../../../../src/domain/lease.js';
import type { OnStoreFailure } from '../../../../src/domain/store-settings.js';
import { charge } from '../../../conformance/store-builders.js';
import { handedCase } from '../../../support/handed.js';
import { Away } from './away.js';

/** Handed cases, as far as the store alone decides them. */
describe('handed cases of a store that is away', () => {
  handedCase('BerriAI/litellm#35528', async ({ input, expected }) => {
    const { limit, modes } = input as { limit: { rpm: number }; modes: string[] };
    expect(modes).toEqual(['fail_open', 'fail_closed', 'local_fallback']);
    const decided = async (mode: OnStoreFailure): Promise<{ on: Away; kinds: ReserveResult['kind'][] }> => {
      const on = new Away({ mode, processors: 1 });
      on.flaky.condition = 'deaf';
      const kinds: ReserveResult['kind'][] = [];
      for (let i = 0; i < 30; i++) kinds.push(await on.reserve(`r${i}`, charge('requests', { limit: limit.rpm })));
      return { on, kinds };
    };
    const closed = await decided('closed');
    expect(closed.kinds).toEqual(Array(30).fill('unavailable'));
    const local = await decided('local');
    expect(local.kinds.filter((kind) => kind === 'reserved')).toHaveLength(10);
    const open = await decided('open');
    expect(open.kinds).toEqual(Array(30).fill('reserved'));
    expect(open.on.told.filter((what) => what === 'open')).toHaveLength(30);
    expect(open.on.told).toContain('away');
    expect(expected['never']).toBe('500');
  });

  handedCase('BerriAI/litellm#16011', async ({ input }) => {
    const { replicas, limit } = input as { replicas: number; limit: { concurrent: number } };
    const places = charge('concurrency', { limit: limit.concurrent });
    const first = new Away({ processors: replicas });
    const all = [first, ...Array.from({ length: replicas - 1 }, (_, i) => new Away({ processors: replicas, beside: first, owner: `p${i + 2}` }))];
    for (const on of all) await on.goAway('refuses');
    for (const [n, on] of all.entries()) {
      let running = 0;
      for (let i = 0; i < 10; i++) if ((await on.reserve(`r${n}-${i}`, places)) === 'reserved') running++;
      expect(running).toBe(2);
    }
  });
});

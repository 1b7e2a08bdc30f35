import { describe, expect, test } from 'vitest';
import type { ReserveResult } from '../../../src/domain/lease.js';
import type { Store } from '../../../src/domain/store.js';
import type { Limit, Tenant } from '../../../src/domain/tenant.js';
import { bucketSpecsOf, planCharges } from '../../../src/quota/charges.js';
import type { Demand } from '../../../src/quota/charges.js';
import { createMemoryStore } from '../../../src/stores/memory.js';
import { event, used } from '../../conformance/store-builders.js';
import { demand, limit, policy, tenant } from './builders.js';
import { handedCase } from '../../support/handed.js';

/** The numbers of a case's limit. */
const limitOf = (input: Readonly<Record<string, unknown>>) => input['limit'] as Readonly<Record<string, number>>;

/** One tenant in front of a store, at virtual time: what the admission does, without a network. */
class Desk {
  nowMs = 1_800_000_000_000;
  readonly store: Store = createMemoryStore();
  readonly #tenant: Tenant;
  #leases = 0;

  constructor(limits: readonly Limit[]) {
    this.#tenant = tenant('acme', limits);
  }

  async ask(need: Demand): Promise<{ readonly id: string; readonly result: ReserveResult; readonly status: 200 | 429 }> {
    const plan = planCharges(policy([this.#tenant]), this.#tenant, 'm', need);
    if (plan.kind === 'never_fits') throw new Error('the case asks for more than the bucket holds');
    const id = `lease-${++this.#leases}`;
    const { enforced, shadowed } = plan;
    const result = await this.store.reserve({ leaseId: id, tenantId: 'acme', rootId: 'acme', owner: 'p', nowMs: this.nowMs, enforced, shadowed, draft: event(id) });
    return { id, result, status: result.kind === 'reserved' ? 200 : 429 };
  }

  async end(id: string, inputTokens: number, outputTokens: number, cached = 0): Promise<void> {
    const consumed = used(inputTokens, outputTokens, cached);
    await this.store.settle(id, consumed, event(id, consumed), this.nowMs);
  }

  /** Asks and, where admitted, ends at once at the same figures. */
  async serve(inputTokens: number, outputTokens: number): Promise<200 | 429> {
    const { id, status } = await this.ask(demand(inputTokens, outputTokens));
    if (status === 200) await this.end(id, inputTokens, outputTokens);
    return status;
  }

  async remaining(index = 0): Promise<number> {
    return (await this.store.snapshot(bucketSpecsOf(this.#tenant), this.nowMs)).levels[index]!.remaining;
  }
}

const repeat = (n: number): readonly number[] => Array.from({ length: n }, (_, i) => i);

describe('handed cases: rate-limit accounting', () => {
  handedCase('wso2/api-platform#2932', async ({ input, expected }) => {
    const { tokens, window_s: windowS } = limitOf(input);
    const desk = new Desk([limit('tokens', tokens! / (windowS! / 60), { capacity: tokens! })]);
    expect(await desk.serve(120, 30)).toBe(200);
    expect(await desk.remaining()).toBe(expected['after_A_remaining']);
    expect(await desk.serve(120, 30)).toBe(200);
    expect(await desk.remaining()).toBe(expected['after_B_remaining']);
    expect(await desk.serve(120, 30)).toBe(expected['C']);
  });

  handedCase('BerriAI/litellm#41610', async ({ input, expected }) => {
    const tpm = limitOf(input)['deployment_tpm']!;
    const desk = new Desk([limit('tokens', tpm)]);
    const usedAfter: number[] = [];
    for (const total of [80, 15, 20]) {
      const { id, status } = await desk.ask(demand(1, 1));
      expect(status).toBe(200);
      await desk.end(id, 10, total - 10);
      usedAfter.push(tpm - (await desk.remaining()));
    }
    expect(usedAfter).toEqual(expected['used']);
    expect((await desk.ask(demand(1, 1))).status).toBe(expected['last']);
  });

  handedCase('BerriAI/litellm#17664', async ({ input, expected }) => {
    const desk = new Desk([limit('tokens', limitOf(input)['tpm']!)]);
    expect(await desk.serve(950, 1)).toBe(expected['first']);
    desk.nowMs += 30_000;
    expect(await desk.serve(950, 1)).toBe(expected['second']);
  });

  handedCase('BerriAI/litellm#18728', async ({ input, expected }) => {
    const admitted = async (countCachedInput: boolean): Promise<readonly number[]> => {
      const desk = new Desk([limit('tokens', limitOf(input)['tpm']!, { countCachedInput })]);
      const statuses: number[] = [];
      for (let i = 0; i < 6; i++) {
        const { id, status } = await desk.ask(demand(9_900, 100, { cachedShare: 8_000 / 9_900 }));
        if (status === 200) await desk.end(id, 9_900, 100, 8_000);
        statuses.push(status);
      }
      return statuses;
    };
    const statuses = await admitted(false);
    expect(statuses.slice(0, 5)).toEqual(repeat(expected['admitted'] as number).map(() => 200));
    expect(statuses[5]).toBe(expected['sixth']);
    const counted = expected['with_count_cached_true'] as { admitted: number };
    expect((await admitted(true)).filter((status) => status === 200)).toHaveLength(counted.admitted);
  });

  test('BerriAI/litellm#18728, the share not yet learned: the first reserves in full, and the level is right after it', async () => {
    const desk = new Desk([limit('tokens', 10_000, { countCachedInput: false })]);
    const { id } = await desk.ask(demand(9_900, 100));
    expect(await desk.remaining()).toBe(0);
    await desk.end(id, 9_900, 100, 8_000);
    expect(await desk.remaining()).toBe(8_000);
  });

  handedCase('higress-group/higress#2464', async ({ input, expected }) => {
    const tpm = limitOf(input)['tpm']!;
    const desk = new Desk([limit('tokens', tpm)]);
    const answers = await Promise.all(repeat(50).map(() => desk.ask(demand(50, 150))));
    const admitted = answers.filter(({ status }) => status === 200);
    expect(admitted).toHaveLength(expected['admitted_at_once'] as number);
    expect(tpm - (await desk.remaining())).toBe(admitted.length * 200);
    expect(admitted.length * 200).toBeLessThanOrEqual(expected['forwarded_reserved_sum_max'] as number);
  });

  handedCase('PostHog/posthog#45116', async ({ input, expected }) => {
    const tpm = limitOf(input)['tpm']!;
    const desk = new Desk([limit('tokens', tpm)]);
    const { id } = await desk.ask(demand(100, 4_000));
    expect(await desk.remaining()).toBe(tpm - 4_100);
    await desk.end(id, 90, 20);
    expect(await desk.remaining()).toBe(expected['remaining']);
    expect(tpm - (await desk.remaining())).toBe(expected['used_after']);
  });

  handedCase('BerriAI/litellm#21312', async ({ input, expected }) => {
    const desk = new Desk([limit('requests', limitOf(input)['rpm']!), limit('tokens', 100_000)]);
    let upstreamCalls = 0;
    const statuses: number[] = [];
    for (let i = 0; i < 25; i++) {
      const { id, status } = await desk.ask(demand(100, 50));
      statuses.push(status);
      if (status === 429) continue;
      upstreamCalls++;
      await desk.end(id, 0, 0);
    }
    expect(upstreamCalls).toBe(expected['upstream_calls']);
    expect(statuses.slice(-5)).toEqual(repeat(5).map(() => expected['last_five']));
    expect(100_000 - (await desk.remaining(1))).toBe(expected['tokens_charged']);
  });

  handedCase('vllm-project/aibrix#848', async ({ input, expected }) => {
    const tpm = limitOf(input)['tpm']!;
    const desk = new Desk([limit('tokens', tpm)]);
    for (let i = 0; i < 10; i++) expect(await desk.serve(20, 30)).toBe(expected['first_ten']);
    expect(tpm - (await desk.remaining())).toBe(expected['used_after_ten']);
    const large = demand(4_600, 100);
    const { result } = await desk.ask(large);
    expect(result).toMatchObject({ kind: 'refused', shortage: { needed: 4_700, waitMs: 2_400, exact: true } });
    desk.nowMs += 2_399;
    expect((await desk.ask(large)).status).toBe(429);
    desk.nowMs += 1;
    expect((await desk.ask(large)).status).toBe(200);
  });
});

describe('handed cases: fairness without being asked', () => {
  handedCase('BerriAI/litellm#18953', async ({ input, expected }) => {
    const desk = new Desk([limit('tokens', limitOf(input)['key_tpm']!)]);
    const statuses: number[] = [];
    for (let i = 0; i < 99; i++) statuses.push(await desk.serve(80, 20));
    expect(statuses.filter((status) => status !== 200)).toHaveLength(expected['rejections'] as number);
    expect(await desk.remaining()).toBe(100);
  });
});

describe('handed cases: concurrency', () => {
  handedCase('BerriAI/litellm#1477', async ({ input, expected }) => {
    const places = limitOf(input)['concurrent']!;
    const desk = new Desk([limit('concurrency', places)]);
    const inFlight: number[] = [];
    const note = async (): Promise<void> => void inFlight.push(places - (await desk.remaining()));
    // Taken, then refused by a later filter: as if it had never been.
    const { id: refusedLater } = await desk.ask(demand(1, 1));
    expect(await desk.remaining()).toBe(places - 1);
    await desk.store.cancel(refusedLater, desk.nowMs);
    await note();
    // A body that can't be read is refused before anything is reserved.
    await note();
    const { id, status } = await desk.ask(demand(1, 1));
    expect(status).toBe(expected['last']);
    await desk.end(id, 1, 1);
    await note();
    expect(inFlight).toEqual(expected['in_flight_after_each']);
  });

  handedCase('BerriAI/litellm#20256', async ({ input, expected }) => {
    const places = limitOf(input)['concurrent']!;
    const desk = new Desk([limit('concurrency', places), limit('tokens', 100_000)]);
    // Whatever the upstream did (502, 504, a reset, a time-out), it ends as a settlement of nothing, or of what was seen until then.
    const admitted = await Promise.all(repeat(places).map(() => desk.ask(demand(100, 100))));
    expect((await desk.ask(demand(1, 1))).status).toBe(429);
    for (const [i, { id }] of admitted.entries()) await desk.end(id, 0, i < 6 ? 0 : 5);
    expect(places - (await desk.remaining())).toBe(expected['in_flight']);
    expect((await desk.ask(demand(1, 1))).status).toBe(expected['request_11']);
  });

  handedCase('BerriAI/litellm#27955', async ({ input, expected }) => {
    const desk = new Desk([limit('concurrency', limitOf(input)['concurrent']!)]);
    const { id } = await desk.ask(demand(100, 4_000));
    await desk.store.renew([{ leaseId: id, outputTokens: 2 }], desk.nowMs);
    await desk.end(id, 100, 2);
    // A second end of the same stream frees no second place.
    await desk.store.cancel(id, desk.nowMs);
    desk.nowMs += 1_000;
    const next = await desk.ask(demand(1, 1));
    expect(next.status).toBe((expected['statuses'] as readonly unknown[])[2]);
    expect((await desk.ask(demand(1, 1))).status).toBe(429);
    await desk.end(next.id, 1, 1);
    expect((await desk.store.snapshot([], desk.nowMs)).leases).toBe(expected['in_flight_at_end']);
  });

  test('BerriAI/litellm#27955, the client and its processor both gone: the place is free when the lease has run out', async () => {
    const desk = new Desk([limit('concurrency', 1)]);
    await desk.ask(demand(100, 4_000));
    for (let second = 0; second < 10; second++) {
      expect((await desk.ask(demand(1, 1))).status).toBe(429);
      desk.nowMs += 1_000;
      await desk.store.reap(desk.nowMs);
    }
    expect((await desk.ask(demand(1, 1))).status).toBe(200);
  });
});

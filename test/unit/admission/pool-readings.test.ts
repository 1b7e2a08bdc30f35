import { describe, expect, it } from 'vitest';
import { PoolReadings } from '../../../src/admission/pool-readings.js';
import type { PoolPolicy } from '../../../src/domain/policy.js';
import type { PoolSnapshot } from '../../../src/domain/pool.js';
import { VirtualClock } from '../../../src/lib/virtual-clock.js';
import { poolEntitlement, poolPolicy, poolSnapshot, poolUser } from '../../support/pool-policies.js';

const CHAT = poolPolicy('chat', { slots: 20 }, [
  poolEntitlement('gold', 'guaranteed', { slots: 8 }, { sloMs: 500 }),
  poolEntitlement('team', 'elastic'),
  poolEntitlement('cheap', 'spot'),
]);

type Answer = () => Promise<PoolSnapshot | null>;

function reader(answers: Record<string, Answer>, configured: readonly PoolPolicy[] = [CHAT]) {
  const clock = new VirtualClock(1_000);
  const asked: string[] = [];
  const state = { alone: false };
  const snapshot = (id: string): Promise<PoolSnapshot | null> => {
    asked.push(id);
    return answers[id]!();
  };
  return { clock, asked, answers, state, readings: new PoolReadings({ pools: { snapshot }, clock, alone: () => state.alone, configured: () => configured }) };
}

const ANSWERED: Answer = () => Promise.resolve(poolSnapshot([poolUser('team', 'elastic', { waiting: 3 }), poolUser('stranger', 'elastic')]));

describe('reading pools for those who look on (point 7)', () => {
  it('shows who asked, and the configured ones that did not, with the priority that they would have', async () => {
    const [reading] = await reader({ chat: ANSWERED }).readings.read();
    expect(reading).toMatchObject({ stale: false, readAtMs: 1_000, snapshot: { waiting: 3 } });
    expect(reading!.entitlements.map(({ id, weight }) => [id, weight])).toEqual([['team', 10], ['stranger', 10], ['gold', 20], ['cheap', 0]]);
  });

  it('shows a pool that nobody asked as idle', async () => {
    const [reading] = await reader({ chat: () => Promise.resolve(null) }).readings.read();
    expect(reading).toMatchObject({ stale: false, snapshot: { poolId: 'chat', waiting: 0, inFlight: 0, capacity: { slots: 20 } }, scaling: { needed: { slots: 0 } } });
    expect(reading!.entitlements).toHaveLength(3);
  });

  it('shows what it read last while the pool fails or is silent, and says so; the others do not wait for it', async () => {
    const other = poolPolicy('other', { slots: 1 }, []);
    const { readings, answers, clock } = reader({ chat: ANSWERED, other: () => Promise.resolve(null) }, [CHAT, other]);
    await readings.read();
    answers['chat'] = () => Promise.reject(new Error('away'));
    clock.advance(60_000);
    expect(await readings.read()).toMatchObject([{ stale: true, readAtMs: 1_000, snapshot: { waiting: 3 } }, { stale: false, readAtMs: 61_000 }]);
    answers['chat'] = () => new Promise(() => undefined);
    const silent = readings.read();
    // What answers at once has.
    await new Promise(setImmediate);
    clock.advance(3_000);
    expect((await silent).map(({ stale }) => stale)).toEqual([true, false]);
    answers['chat'] = ANSWERED;
    expect(await readings.read()).toMatchObject([{ stale: false, readAtMs: 64_000 }, {}]);
    expect(clock.pending).toBe(0);
  });

  it('has an idle pool to show where it never got an answer', async () => {
    const [reading] = await reader({ chat: () => Promise.reject(new Error('away')) }).readings.read();
    expect(reading).toMatchObject({ stale: true, readAtMs: null, snapshot: { waiting: 0 } });
  });

  it('says that it is a part where the store is away, and leaves what is needed in all as it was', async () => {
    const { readings, state, clock } = reader({ chat: ANSWERED });
    const [whole] = await readings.read();
    state.alone = true;
    clock.advance(60_000);
    const [part] = await readings.read();
    expect(whole!.partial).toBe(false);
    expect(part).toMatchObject({ partial: true, stale: false, readAtMs: 61_000 });
    expect(part!.scaling).toBe(whole!.scaling);
  });

  it('asks each pool once for all who read at one time', async () => {
    const { readings, asked } = reader({ chat: ANSWERED });
    const [a, b] = await Promise.all([readings.read(), readings.read()]);
    expect(a).toBe(b);
    await readings.read();
    expect(asked).toEqual(['chat', 'chat']);
  });

  it('smooths what is needed from one reading to the next', async () => {
    const busy = poolUser('team', 'elastic', { inFlight: 10, inUse: { tokensPerSecond: 500, kvBytes: 0, slots: 10 }, servedTokensPerSecond: 500, demandTokensPerSecond: 500 });
    const { readings, answers, clock } = reader({ chat: () => Promise.resolve(poolSnapshot([busy])) });
    await readings.read();
    answers['chat'] = () => Promise.resolve(poolSnapshot([]));
    clock.advance(120_000);
    const [later] = await readings.read();
    expect(later!.scaling.needed.slots).toBeCloseTo(10 / Math.E);
    expect(later!.scaling.utilisation.slots).toBeCloseTo(0.5 / Math.E);
  });
});

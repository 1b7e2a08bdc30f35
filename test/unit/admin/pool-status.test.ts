import { describe, expect, it } from 'vitest';
import { MAX_IMPLICIT_SHOWN } from '../../../src/admin/pool-status.js';
import { buildStatus } from '../../../src/admin/status.js';
import { PoolReadings } from '../../../src/admission/pool-readings.js';
import type { PoolSnapshot } from '../../../src/domain/pool.js';
import { VirtualClock } from '../../../src/lib/virtual-clock.js';
import { poolEntitlement, poolPolicy, poolSnapshot, poolUser } from '../../support/pool-policies.js';
import { policy } from './policies.js';

const CHAT = poolPolicy('chat', { slots: 20, tokensPerSecond: 1_000 }, [poolEntitlement('acme', 'guaranteed', { slots: 8 }), poolEntitlement('team', 'elastic', { tokensPerSecond: 400 })]);
const NOTHING_KEPT = { leases: 0, levels: [], totals: new Map<string, never>() };

async function statusOf(snapshot: PoolSnapshot | null) {
  const clock = new VirtualClock(5_000);
  const readings = new PoolReadings({ pools: { snapshot: () => Promise.resolve(snapshot) }, clock, alone: () => false, configured: () => [CHAT] });
  return buildStatus(policy([]), [], NOTHING_KEPT, { readings: await readings.read(), nowMs: 5_200 });
}

describe('pools in GET /status (point 7)', () => {
  it('have the shape that architecture.md fixes, also where nobody asked yet', async () => {
    const status = await statusOf(null);
    expect(JSON.parse(JSON.stringify(status))).toMatchObject({
      waiting: 0,
      pools: { chat: { waiting: 0, pressure: 'normal', entitlements: { acme: { class: 'guaranteed', inFlight: 0, debt: 0, priority: 100 } } } },
    });
  });

  it('tell share, rates, debt, priority with its factors, and what waits', async () => {
    const team = poolUser('team', 'elastic', {
      inFlight: 3, waiting: 2, waitingWork: 300, servedTokensPerSecond: 300, demandTokensPerSecond: 500, debtTokens: 1_600.4, baseline: CHAT.entitlements.get('team')!.baseline,
      inUse: { tokensPerSecond: 300, kvBytes: 9, slots: 3 }, weight: 20, debtFactor: 2,
    });
    const acme = poolUser('acme', 'guaranteed', { inFlight: 5, inUse: { tokensPerSecond: 700, kvBytes: 0, slots: 5 }, servedTokensPerSecond: 700, demandTokensPerSecond: 700 });
    const status = await statusOf(poolSnapshot([team, acme], { pressure: 'elevated' }));
    expect(status.waiting).toBe(2);
    expect(status.pools['chat']).toMatchObject({
      waiting: 2, waitingLimit: 1_000, pressure: 'elevated', inFlight: 8, capacity: { slots: 20 }, inUse: { tokensPerSecond: 1_000, kvBytes: 9, slots: 8 },
      stale: false, ageMs: 200, entitlementsOmitted: 0,
    });
    expect(status.pools['chat']!.entitlements['team']).toEqual({
      class: 'elastic', inFlight: 3, waiting: 2, debt: 1_600, priority: 200, factors: { slo: 1, burst: 1, debt: 2 }, share: 0.3, servedTokensPerSecond: 300,
      baseline: { tokensPerSecond: 400, requestsPerSecond: null, kvBytes: null, slots: null }, inUse: { kvBytes: 9, slots: 3 },
    });
    expect(status.pools['chat']!.needed.slots).toBeGreaterThan(8);
  });

  it('show all configured entitlements and the busiest of the others, however many there are and whatever they are called', async () => {
    const others = Array.from({ length: MAX_IMPLICIT_SHOWN + 50 }, (_, i) => poolUser(i === 7 ? '__proto__' : `guest:${i}`, 'elastic', { inFlight: i === 7 ? 999 : i }));
    const { entitlements, entitlementsOmitted } = (await statusOf(poolSnapshot(others))).pools['chat']!;
    expect(Object.keys(entitlements)).toHaveLength(MAX_IMPLICIT_SHOWN + 2);
    expect(entitlementsOmitted).toBe(50);
    expect(Object.hasOwn(entitlements, '__proto__')).toBe(true);
    expect(entitlements['guest:249']?.inFlight).toBe(249);
    expect(entitlements['guest:0']).toBeUndefined();
  });
});

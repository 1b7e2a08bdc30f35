import type { PoolEntitlement, PoolPolicy } from '../../src/domain/policy.js';
import type { PoolAnswer, PoolAsk, PoolEvent, PoolFactors, PoolRenewal, PoolSettings, PoolStore } from '../../src/domain/pool.js';
import { UNBOUNDED } from '../../src/domain/pool.js';

export const FACTORS: PoolFactors = {
  entitlementId: 'acme', serviceClass: 'elastic', tier: 1, weight: 20, sloFactor: 2, burstFactor: 1, debtFactor: 1, debtTokens: 0,
  servedTokensPerSecond: 0, virtualTime: 0, waiting: 1,
};

export function poolSettings(id: string, more: Partial<PoolSettings> = {}): PoolSettings {
  const none = { tokensPerSecond: 0, kvBytes: 0, slots: 0 };
  return {
    id, capacity: { ...UNBOUNDED, slots: 1 }, burstSeconds: 5, tier0Baselines: none, elasticTokensPerSecond: 0, lentToNone: none, lentToSpot: none,
    maxWaiting: 1_000, maxWaitingBytes: 2 ** 28, reclaimMs: 1_000, pressure: 'normal', ...more,
  };
}

/** A pool store that answers as it is told, and remembers what it was asked. */
export class ScriptedPools implements PoolStore {
  readonly calls: string[] = [];
  readonly renewed: { poolId: string; renewals: readonly PoolRenewal[]; nowMs: number }[] = [];
  readonly ticked: { settings: PoolSettings; nowMs: number }[] = [];
  /** What `ask` answers; a function may also emit events first, or throw. */
  answer: (ask: PoolAsk) => PoolAnswer | Promise<PoolAnswer> = () => ({ kind: 'waiting', factors: FACTORS, nextAtMs: null });
  nextAtMs: number | null = null;
  fails = false;
  #listener: ((event: PoolEvent) => void) | null = null;

  emit(event: PoolEvent): void {
    this.#listener?.(event);
  }

  granted(leaseId: string, waitedMs = 0): void {
    this.emit({ kind: 'granted', poolId: 'chat', leaseId, waitedMs, factors: FACTORS });
  }

  async ask(ask: PoolAsk): Promise<PoolAnswer> {
    this.calls.push(`ask ${ask.leaseId}`);
    return this.answer(ask);
  }

  async settle(_poolId: string, leaseId: string, work: number): Promise<{ end: 'ended'; nextAtMs: number | null }> {
    return this.#end(`settle ${leaseId} ${work}`);
  }

  async cancel(_poolId: string, leaseId: string): Promise<{ end: 'ended'; nextAtMs: number | null }> {
    return this.#end(`cancel ${leaseId}`);
  }

  async renew(poolId: string, _owner: string, renewals: readonly PoolRenewal[], nowMs: number): Promise<{ nextAtMs: number | null }> {
    if (this.fails) throw new Error('away');
    this.renewed.push({ poolId, renewals, nowMs });
    return { nextAtMs: this.nextAtMs };
  }

  async tick(settings: PoolSettings, nowMs: number): Promise<{ nextAtMs: number | null }> {
    if (this.fails) throw new Error('away');
    this.ticked.push({ settings, nowMs });
    return { nextAtMs: this.nextAtMs };
  }

  async snapshot(): Promise<null> {
    return null;
  }

  onEvent(_owner: string, listener: (event: PoolEvent) => void): () => void {
    this.#listener = listener;
    return () => {
      this.#listener = null;
    };
  }

  async close(): Promise<void> {
    // Nothing to close.
  }

  async #end(call: string): Promise<{ end: 'ended'; nextAtMs: number | null }> {
    this.calls.push(call);
    if (this.fails) throw new Error('away');
    return { end: 'ended', nextAtMs: this.nextAtMs };
  }
}

/** A pool of all models, in which each tenant has the entitlement that is given, else an elastic one without a baseline. */
export function poolPolicy(settings: PoolSettings, more: Partial<PoolPolicy> = {}, entitlements: readonly PoolEntitlement[] = []): PoolPolicy {
  return {
    settings, kind: 'self-hosted', matches: () => true, prefillWeight: 0.25, kvBytesPerToken: () => 0, holdMs: { interactive: 10_000, background: 60_000 },
    entitlements: new Map(entitlements.map((each) => [each.id, each])), implicit: (tenantId) => entitlement(tenantId), ...more,
  };
}

export function entitlement(id: string, more: Partial<PoolEntitlement> = {}): PoolEntitlement {
  return {
    id, serviceClass: 'elastic', baseline: UNBOUNDED, classWeight: 10, sloMs: 2_000, lend: 'all', preemptible: false, defaultWork: 'interactive', ...more,
  };
}

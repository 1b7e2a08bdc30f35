import type { PoolPolicy } from '../domain/policy.js';
import { UNBOUNDED, type Entitlement, type EntitlementSnapshot, type PoolSnapshot, type PoolStore } from '../domain/pool.js';
import type { Clock } from '../lib/clock.js';
import { scalingSignal, type ScalingSignal } from '../pool/scaling.js';
import { sloFactorOf } from '../pool/weights.js';

/** A pool that does not answer in this time is told as it was read last. */
const ANSWER_WITHIN_MS = 3_000;

/** A configured pool as it stands. */
export interface PoolReading {
  readonly policy: PoolPolicy;
  readonly snapshot: PoolSnapshot;
  /** Those that asked lately, and the configured ones that did not. */
  readonly entitlements: readonly EntitlementSnapshot[];
  readonly scaling: ScalingSignal;
  /** When this was read; null: it never could be, and the figures are those of an idle pool. */
  readonly readAtMs: number | null;
  /** The pool did not answer now: this is how it was before. */
  readonly stale: boolean;
  /** The shared store is away, or no processor keeps the pool: this is what this processor does at the pool, not the whole. */
  readonly partial: boolean;
}

export interface ReadingPorts {
  readonly pools: Pick<PoolStore, 'snapshot'>;
  readonly clock: Clock;
  /** Whether this processor decides at the pool without the others. */
  readonly alone: (poolId: string) => boolean;
  /** The pools in force now. */
  readonly configured: () => readonly PoolPolicy[];
}

/** Reads all pools for those who look on: a scrape, an operator. Nothing of it is on a request's path, and whoever reads at the same time shares one reading. */
export class PoolReadings {
  readonly #latest = new Map<string, PoolReading>();
  #reading: Promise<readonly PoolReading[]> | null = null;

  constructor(private readonly ports: ReadingPorts) {}

  /** Every configured pool, in their order. Never rejects, and answers within a bound. */
  read(): Promise<readonly PoolReading[]> {
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  async #readAll(): Promise<readonly PoolReading[]> {
    const readings = await Promise.all(this.ports.configured().map((policy) => this.#readOne(policy)));
    this.#latest.clear();
    for (const reading of readings) this.#latest.set(reading.policy.settings.id, reading);
    return readings;
  }

  async #readOne(policy: PoolPolicy): Promise<PoolReading> {
    const { id } = policy.settings;
    const latest = this.#latest.get(id);
    const nowMs = Math.floor(this.ports.clock.nowMs());
    const found = await this.#snapshot(id, nowMs);
    const partial = this.ports.alone(id);
    if (found === 'no answer') {
      const { snapshot, scaling } = latest ?? readingOf(policy, idlePool(policy), null, nowMs);
      return { policy, snapshot, entitlements: entitlementsOf(policy, snapshot), scaling, readAtMs: latest?.readAtMs ?? null, stale: true, partial };
    }
    const reading = readingOf(policy, found ?? idlePool(policy), latest?.scaling ?? null, nowMs);
    // What is needed in all is not known then, and is as it was.
    const scaling = partial && latest !== undefined ? latest.scaling : reading.scaling;
    return { ...reading, scaling, readAtMs: nowMs, stale: false, partial };
  }

  #snapshot(id: string, nowMs: number): Promise<PoolSnapshot | null | 'no answer'> {
    return new Promise((resolve) => {
      const cancel = this.ports.clock.after(ANSWER_WITHIN_MS, () => {
        resolve('no answer');
      });
      const settle = (answer: PoolSnapshot | null | 'no answer'): void => {
        cancel();
        resolve(answer);
      };
      this.ports.pools.snapshot(id, nowMs).then(settle, () => {
        settle('no answer');
      });
    });
  }
}

function readingOf(policy: PoolPolicy, snapshot: PoolSnapshot, before: ScalingSignal | null, nowMs: number): Omit<PoolReading, 'readAtMs' | 'stale' | 'partial'> {
  return { policy, snapshot, entitlements: entitlementsOf(policy, snapshot), scaling: scalingSignal(snapshot, before, nowMs) };
}

function entitlementsOf(policy: PoolPolicy, { entitlements }: PoolSnapshot): readonly EntitlementSnapshot[] {
  const asked = new Set(entitlements.map(({ id }) => id));
  const silent = [...policy.entitlements.values()].filter(({ id }) => !asked.has(id));
  return [...entitlements, ...silent.map(idleEntitlement)];
}

/** A pool that nobody asked anything. */
function idlePool({ settings }: PoolPolicy): PoolSnapshot {
  const { id, capacity, pressure } = settings;
  return { poolId: id, capacity, pressure, waiting: 0, waitingBytes: 0, inFlight: 0, inUse: NOTHING, entitlements: [] };
}

const NOTHING = { tokensPerSecond: 0, kvBytes: 0, slots: 0 };

function idleEntitlement({ id, serviceClass, baseline, classWeight, sloMs }: Entitlement): EntitlementSnapshot {
  const spot = serviceClass === 'spot';
  const sloFactor = spot ? 1 : sloFactorOf(sloMs);
  return {
    id, serviceClass, inFlight: 0, inUse: NOTHING, baseline: spot ? UNBOUNDED : baseline, waiting: 0, waitingWork: 0,
    servedTokensPerSecond: 0, demandTokensPerSecond: 0, debtTokens: 0, overuse: 0,
    weight: spot ? 0 : classWeight * sloFactor, sloFactor, burstFactor: 1, debtFactor: 1, virtualTime: 0,
  };
}

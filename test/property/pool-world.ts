import { UNBOUNDED, type Capacity, type Entitlement, type PoolAmounts, type PoolAsk, type PoolSettings, type Pressure, type ServiceClass } from '../../src/domain/pool.js';
import type { Random } from './history-world.js';

export const POOL = 'pool';
const CLASSES: readonly ServiceClass[] = ['guaranteed', 'dedicated', 'guaranteed', 'elastic', 'elastic', 'spot', 'spot'];
const NOTHING: PoolAmounts = { tokensPerSecond: 0, kvBytes: 0, slots: 0 };
const LENDING = ['all', 'all', 'all', 'spot', 'none'] as const;

/** A pool of random capacity, and entitlements of all classes; what they are may change. */
export class PoolWorld {
  #capacity: Capacity;
  #entitlements: Entitlement[];
  #pressure: Pressure = 'normal';
  #settings: PoolSettings;
  readonly #bounds: Pick<PoolSettings, 'burstSeconds' | 'maxWaiting' | 'maxWaitingBytes' | 'reclaimMs'>;

  constructor(private readonly random: Random) {
    this.#capacity = {
      tokensPerSecond: random.chance(0.6) ? random.whole(50, 2_000) : null,
      requestsPerSecond: random.chance(0.2) ? random.whole(1, 10) : null,
      kvBytes: random.chance(0.5) ? random.whole(500, 8_000) : null,
      slots: random.chance(0.9) ? random.whole(1, 12) : null,
    };
    this.#bounds = { burstSeconds: random.whole(1, 5), maxWaiting: random.whole(3, 12), maxWaitingBytes: random.whole(500, 8_000), reclaimMs: random.pick([0, 200, 1_000]) };
    this.#entitlements = CLASSES.map((serviceClass, i) => this.#entitlement(serviceClass, i));
    this.#settings = this.#make();
  }

  get settings(): PoolSettings {
    return this.#settings;
  }

  get entitlements(): readonly Entitlement[] {
    return this.#entitlements;
  }

  ask(leaseId: string, owner: string, nowMs: number): PoolAsk {
    const { random } = this;
    const entitlement = random.chance(0.1) ? this.#implicit(random.whole(1, 3)) : random.pick(this.#entitlements);
    return {
      ...{ leaseId, owner, pool: this.#settings, entitlement, nowMs },
      demand: { work: random.whole(1, random.pick([20, 300, 3_000])), kvBytes: random.chance(0.8) ? random.whole(0, 1_500) : 0, slots: random.chance(0.8) ? 1 : random.whole(2, 4) },
      work: random.chance(0.7) ? 'interactive' : 'background',
      bytes: random.whole(0, 1_500),
      maxWaitMs: random.chance(0.1) ? 0 : random.whole(1, random.pick([200, 5_000, 30_000])),
    };
  }

  /** What a request truly took. */
  work(): number {
    return this.random.whole(0, this.random.pick([20, 300, 4_000]));
  }

  /** Nodes come and go. */
  changeCapacity(): void {
    const change = (n: number | null) => (n === null ? null : Math.max(1, Math.floor((n * this.random.whole(3, 20)) / 10)));
    const { tokensPerSecond, kvBytes, slots, requestsPerSecond } = this.#capacity;
    this.#capacity = { tokensPerSecond: bounded(change(tokensPerSecond), 20, 4_000), kvBytes: bounded(change(kvBytes), 100, 20_000), slots: bounded(change(slots), 1, 24), requestsPerSecond };
    this.#settings = this.#make();
  }

  changePressure(): void {
    this.#pressure = this.#pressure === 'normal' ? this.random.pick(['elevated', 'critical'] as const) : 'normal';
    this.#settings = this.#make();
  }

  /** A reload of the configuration. */
  reconfigure(): void {
    const at = this.random.whole(0, CLASSES.length - 1);
    this.#entitlements[at] = this.#entitlement(CLASSES[at]!, at);
    this.#settings = this.#make();
  }

  #entitlement(serviceClass: ServiceClass, i: number): Entitlement {
    const { random } = this;
    const share = (n: number | null) => (n === null || serviceClass === 'spot' || random.chance(0.2) ? null : Math.max(1, Math.floor((n * random.whole(5, 30)) / 100)));
    const { tokensPerSecond, kvBytes, slots } = this.#capacity;
    const hasBaseline = serviceClass !== 'elastic' || random.chance(0.8);
    return {
      id: `${serviceClass}${i}`,
      serviceClass,
      baseline: hasBaseline ? { ...UNBOUNDED, tokensPerSecond: share(tokensPerSecond), kvBytes: share(kvBytes), slots: share(slots) } : UNBOUNDED,
      classWeight: random.pick([10, 10, 10, 5, 40]),
      sloMs: random.pick([500, 2_000, 30_000]),
      lend: random.pick(LENDING),
      preemptible: serviceClass === 'spot' ? random.chance(0.9) : random.chance(0.4),
    };
  }

  #implicit(n: number): Entitlement {
    return { id: `implicit${n}`, serviceClass: 'elastic', baseline: UNBOUNDED, classWeight: 10, sloMs: 2_000, lend: 'all', preemptible: false };
  }

  #make(): PoolSettings {
    const of = (test: (e: Entitlement) => boolean) => this.#entitlements.filter(test).reduce(addBaseline, NOTHING);
    return {
      ...{ id: POOL, capacity: this.#capacity, pressure: this.#pressure, ...this.#bounds },
      tier0Baselines: of((e) => e.serviceClass === 'guaranteed' || e.serviceClass === 'dedicated'),
      elasticTokensPerSecond: of((e) => e.serviceClass === 'elastic').tokensPerSecond,
      lentToNone: of((e) => e.lend === 'none'),
      lentToSpot: of((e) => e.lend === 'spot'),
    };
  }
}

function addBaseline(sum: PoolAmounts, { baseline }: Entitlement): PoolAmounts {
  return {
    tokensPerSecond: sum.tokensPerSecond + (baseline.tokensPerSecond ?? 0),
    kvBytes: sum.kvBytes + (baseline.kvBytes ?? 0),
    slots: sum.slots + (baseline.slots ?? 0),
  };
}

function bounded(n: number | null, least: number, most: number): number | null {
  return n === null ? null : Math.min(most, Math.max(least, n));
}

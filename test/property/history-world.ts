import type { BucketCharge, Consumption } from '../../src/domain/lease.js';
import type { BucketSpec } from '../../src/domain/store.js';
import type { LimitDimension } from '../../src/domain/tenant.js';

/** Chance that repeats: the same seed gives the same numbers (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** Whole, from `min` to `max`. */
  whole(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(from: readonly T[]): T {
    const one = from[Math.floor(this.next() * from.length)];
    if (one === undefined) throw new Error('nothing to pick from');
    return one;
  }
}

const DIMENSIONS: readonly LimitDimension[] = ['requests', 'tokens', 'inputTokens', 'outputTokens', 'concurrency'];

/** Two children with one parent, and two that stand alone: three roots. */
const CHAINS: ReadonlyMap<string, readonly string[]> = new Map([
  ['acme', ['acme', 'corp']],
  ['beta', ['beta', 'corp']],
  ['corp', ['corp']],
  ['solo', ['solo']],
  ['tri', ['tri']],
]);

export const TENANTS: readonly string[] = [...CHAINS.keys()];

type Mode = 'enforced' | 'shadowed' | 'absent';

interface Configured {
  readonly spec: BucketSpec;
  readonly mode: Mode;
}

export interface Asked {
  readonly tenantId: string;
  readonly rootId: string;
  readonly parentId: string | null;
  readonly enforced: readonly BucketCharge[];
  readonly shadowed: readonly BucketCharge[];
  readonly inputTokens: number;
}

/** Tenants and limits, whose numbers change as reloads change them. */
export class World {
  readonly #limits = new Map<string, Configured>();
  #specs: readonly BucketSpec[] | null = null;

  constructor(private readonly random: Random) {
    for (const tenantId of TENANTS) for (const dimension of DIMENSIONS) this.#configure(tenantId, dimension);
  }

  /** Every bucket there may be, with its numbers of now. */
  get specs(): readonly BucketSpec[] {
    return (this.#specs ??= [...this.#limits.values()].map(({ spec }) => spec));
  }

  /** A reload changes one limit. */
  reconfigure(): void {
    this.#configure(this.random.pick(TENANTS), this.random.pick(DIMENSIONS));
  }

  /** A reload that gives a bucket this rate. */
  setLimit(key: string, limit: number): void {
    const known = this.#limits.get(key);
    if (known !== undefined) this.#limits.set(key, { ...known, spec: { ...known.spec, limit } });
    this.#specs = null;
  }

  rootOf(tenantId: string): string {
    return CHAINS.get(tenantId)?.at(-1) ?? tenantId;
  }

  /** What a random request is charged to. */
  ask(): Asked {
    const tenantId = this.random.pick(TENANTS);
    const chain = CHAINS.get(tenantId) ?? [tenantId];
    const inputTokens = this.random.whole(0, 400);
    const outputTokens = this.random.whole(0, 400);
    const limits = [...this.#limits.values()].filter(({ spec }) => chain.includes(spec.tenantId));
    const charges = (mode: Mode) => limits.filter((one) => one.mode === mode).map(({ spec }) => chargeOf(spec, inputTokens, outputTokens));
    const parentId = chain[1] ?? null;
    return { tenantId, rootId: chain.at(-1) ?? tenantId, parentId, enforced: charges('enforced'), shadowed: charges('shadowed'), inputTokens };
  }

  /** What a request truly came to; now and then nonsense. */
  consume(): Consumption {
    if (this.random.chance(0.02)) return { inputTokens: 10.7, cachedInputTokens: this.random.whole(-5, 50), outputTokens: this.random.pick([-3, 0.5, Number.NaN]) };
    const inputTokens = this.random.whole(0, 600);
    return { inputTokens, cachedInputTokens: this.random.whole(0, inputTokens), outputTokens: this.random.whole(0, 600) };
  }

  #configure(tenantId: string, dimension: LimitDimension): void {
    const { random } = this;
    this.#specs = null;
    const key = `${tenantId}/*:${dimension}`;
    const limit = dimension === 'concurrency' ? random.whole(1, 8) : dimension === 'requests' ? random.whole(1, 300) : random.whole(1, 60_000);
    const capacity = dimension === 'concurrency' ? limit : dimension === 'requests' ? random.whole(1, 20) : random.whole(200, 3_000);
    const mode = random.pick<Mode>(['enforced', 'enforced', 'shadowed', 'absent']);
    this.#limits.set(key, { mode, spec: { key, tenantId, dimension, limit, capacity, countCachedInput: random.chance(0.5) } });
  }
}

function chargeOf(spec: BucketSpec, inputTokens: number, outputTokens: number): BucketCharge {
  const input = spec.dimension === 'tokens' || spec.dimension === 'inputTokens' ? inputTokens : 0;
  const output = spec.dimension === 'tokens' || spec.dimension === 'outputTokens' ? outputTokens : 0;
  const wanted = spec.dimension === 'requests' || spec.dimension === 'concurrency' ? 1 : input + output;
  const amount = Math.min(spec.capacity, wanted);
  return { ...spec, amount, inputAmount: Math.min(amount, input) };
}

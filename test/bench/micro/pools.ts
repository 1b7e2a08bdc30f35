import { UNBOUNDED, type Entitlement, type PoolAsk, type PoolSettings } from '../../../src/domain/pool.js';
import { PoolScheduler } from '../../../src/pool/scheduler.js';
import type { Figure } from './figure.js';

const NOTHING = { tokensPerSecond: 0, kvBytes: 0, slots: 0 };
const SLOTS = 256;
const BYTES = 8_000;
const DECISIONS = 20_000;
const WARM_UP = 5_000;

function settings(): PoolSettings {
  return {
    ...{ id: 'pool', capacity: { tokensPerSecond: 1e9, requestsPerSecond: null, kvBytes: 1e12, slots: SLOTS }, burstSeconds: 5, tier0Baselines: NOTHING },
    ...{ elasticTokensPerSecond: 1e6, lentToNone: NOTHING, lentToSpot: NOTHING, maxWaiting: 20_000, maxWaitingBytes: 1e10, reclaimMs: 1_000, pressure: 'normal' },
  };
}

function entitlement(n: number): Entitlement {
  return { id: `tenant-${n}`, serviceClass: 'elastic', baseline: { ...UNBOUNDED, tokensPerSecond: 100 + n }, classWeight: 10, sloMs: 2_000, lend: 'all', preemptible: false };
}

/** A pool whose slots are all taken, with so many waiters of so many entitlements; each decision ends one stream, grants the next and takes in another. */
class Crowd {
  readonly #pool = new PoolScheduler('pool');
  readonly #settings = settings();
  readonly #entitlements: readonly Entitlement[];
  readonly #running: string[] = [];
  #nowMs = 1_800_000_000_000;
  #ids = 0;

  constructor(waiting: number, entitlements: number) {
    this.#entitlements = Array.from({ length: entitlements }, (_, n) => entitlement(n));
    for (let i = 0; i < SLOTS + waiting; i++) this.#ask();
    this.#pool.takeEvents();
  }

  /** @returns milliseconds of a settlement that grants, and of an ask that waits, as one. */
  decide(): number {
    this.#nowMs += 0.1;
    const ended = this.#running.shift()!;
    const start = performance.now();
    this.#pool.settle(ended, 90, this.#nowMs);
    const events = this.#pool.takeEvents();
    this.#ask();
    const ms = performance.now() - start;
    for (const { event } of events) if (event.kind === 'granted') this.#running.push(event.leaseId);
    this.#pool.renew('p', events.map(({ event }) => ({ leaseId: event.leaseId, work: 1, kvBytes: 0 })), this.#nowMs);
    return ms / 2;
  }

  #ask(): void {
    const n = this.#ids++;
    const ask: PoolAsk = {
      ...{ leaseId: `lease-${n}`, owner: 'p', pool: this.#settings, entitlement: this.#entitlements[n % this.#entitlements.length]! },
      ...{ demand: { work: 50 + ((n * 37) % 400), kvBytes: 1_000_000, slots: 1 }, work: 'interactive', bytes: BYTES, maxWaitMs: 3_600_000, nowMs: this.#nowMs },
    };
    if (this.#pool.ask(ask).kind === 'dispatched') this.#running.push(ask.leaseId);
  }
}

function times(waiting: number, entitlements: number): number[] {
  const crowd = new Crowd(waiting, entitlements);
  for (let i = 0; i < WARM_UP; i++) crowd.decide();
  return Array.from({ length: DECISIONS }, () => crowd.decide()).sort((a, b) => a - b);
}

function meanMs(sorted: readonly number[]): number {
  // Without the slowest hundredth: pauses of the machine and of the collector.
  const kept = sorted.slice(0, Math.floor(sorted.length * 0.99));
  return kept.reduce((sum, ms) => sum + ms, 0) / kept.length;
}

function p99Ms(sorted: readonly number[]): number {
  return sorted[Math.floor(sorted.length * 0.99)]!;
}

/** The least of a few: what else the machine does only adds. */
function slowdown(): number {
  const ratios = Array.from({ length: 5 }, () => meanMs(times(10_000, 1_000)) / meanMs(times(10, 10)));
  return Math.min(...ratios);
}

/** Megabytes that so many waiters take, beside the bodies that Envoy holds. */
function heldMegabytes(waiting: number): number {
  const collect = globalThis.gc ?? (() => undefined);
  collect();
  const before = process.memoryUsage().heapUsed;
  const crowd = new Crowd(waiting, 1_000);
  collect();
  const used = (process.memoryUsage().heapUsed - before) / 1e6;
  crowd.decide();
  return used;
}

export const figures: readonly Figure[] = [
  { name: 'pools: one decision at 10,000 waiters of 1,000 entitlements, p99', unit: 'ms', target: 0.1, once: true, run: () => p99Ms(times(10_000, 1_000)) },
  { name: 'pools: the same at 10 waiters of 10 entitlements, p99', unit: 'ms', target: 0.1, once: true, run: () => p99Ms(times(10, 10)) },
  { name: 'pools: mean decision at 10,000 waiters against 10', unit: '×', target: 2, once: true, run: slowdown },
  { name: 'pools: memory of 5,000 waiters', unit: 'MB', target: 100, once: true, run: () => heldMegabytes(5_000) },
];

import type { Metric, Registry } from 'prom-client';
import type { PoolReading } from '../admission/pool-readings.js';
import type { Capacity, EntitlementSnapshot, PoolAmounts, Pressure } from '../domain/pool.js';
import { priorityOf, shareOf } from '../pool/shown.js';
import { OTHER } from './bounded-labels.js';

/** Where pools are read from at a scrape. */
export interface PoolSource {
  /** Never rejects, and answers within a bound. */
  read(): Promise<readonly PoolReading[]>;
  /** The name under which metrics show an entitlement's tenant. */
  labelOf(entitlementId: string): string;
}

/** Make a value fit for a label, and bound how many there are. */
export interface PoolLabels {
  pool(id: string): string;
  tenant(label: string): string;
}

const POOL_GAUGES = {
  waiting: ['waiting', 'Requests held at a pool, over all processors.'],
  waitingLimit: ['waiting_limit', 'How many may be.'],
  waitingBytes: ['waiting_bytes', 'Size of their bodies.'],
  waitingBytesLimit: ['waiting_bytes_limit', 'What it may be.'],
  inFlight: ['pool_in_flight', 'Requests that run in a pool.'],
  pressure: ['pool_pressure', 'How tight the memory of a pool is: 0 normal, 1 elevated, 2 critical.'],
  stale: ['pool_stale', 'Whether a pool did not answer, so that its other figures are missing: 1 or 0.'],
} as const;
const DIMENSION_GAUGES = {
  capacity: ['pool_capacity', 'What a pool has.'],
  inUse: ['pool_in_use', 'What of it is taken; of tokens a second, what is served.'],
  needed: ['pool_needed', 'What a pool should have now: for autoscalers.'],
  utilisation: ['pool_utilisation', 'needed / capacity; above 1 the pool is too small.'],
} as const;
const ENTITLEMENT_GAUGES = {
  served: ['entitlement_served_tokens_per_second', 'Expected work served, 10 s average.'],
  share: ['entitlement_share', 'Share of what the pool serves, 0 to 1.'],
  debt: ['entitlement_debt_tokens', 'What an elastic tenant missed of its baseline while it waited.'],
  priority: ['entitlement_priority', 'Weight in the fair order: 100 is a class without any factor, 0 is spot.'],
  waiting: ['entitlement_waiting', 'Requests held.'],
  inFlight: ['entitlement_in_flight', 'Requests that run.'],
} as const;

/** Pairs of pool and tenant with gauges of their own, over the life of the process. */
const MAX_PAIRS = 2_000;
const PRESSURES: Record<Pressure, number> = { normal: 0, elevated: 1, critical: 2 };

type Values = Readonly<Record<string, string>>;

/** Gauges of pools, set as a whole at each scrape: what is not there any more vanishes. */
export class PoolMetrics {
  readonly #gauges = new Map<string, { labels: Values; value: number }[]>();
  readonly #pairs = new Set<string>();

  constructor(registry: Registry, private readonly labels: PoolLabels) {
    const all = [POOL_GAUGES, DIMENSION_GAUGES, ENTITLEMENT_GAUGES].flatMap((some) => Object.values(some) as (readonly [string, string])[]);
    for (const [name, help] of all) this.#register(registry, name, help);
    this.#register(registry, 'entitlement_baseline', 'What a tenant is assured of.');
    this.#register(registry, 'entitlement_factor', 'What its priority is made of: slo, burst, debt.');
  }

  show(readings: readonly PoolReading[], labelOf: PoolSource['labelOf']): void {
    for (const values of this.#gauges.values()) values.length = 0;
    for (const reading of readings) {
      const pool = this.labels.pool(reading.policy.settings.id);
      this.#set('pool_stale', { pool }, reading.stale ? 1 : 0);
      // An autoscaler goes by its fallback where figures are missing, and wrong by old ones.
      if (!reading.stale) this.#showPool(pool, reading, labelOf);
    }
  }

  #showPool(pool: string, { policy, snapshot, entitlements, scaling, partial }: PoolReading, labelOf: PoolSource['labelOf']): void {
    const { maxWaiting, maxWaitingBytes } = policy.settings;
    const figures: Record<Exclude<keyof typeof POOL_GAUGES, 'stale'>, number> = {
      waiting: snapshot.waiting,
      waitingLimit: maxWaiting,
      waitingBytes: snapshot.waitingBytes,
      waitingBytesLimit: maxWaitingBytes,
      inFlight: snapshot.inFlight,
      pressure: PRESSURES[snapshot.pressure],
    };
    for (const [key, value] of Object.entries(figures)) this.#set(POOL_GAUGES[key as keyof typeof figures][0], { pool }, value);
    this.#showDimensions('pool_capacity', { pool }, snapshot.capacity);
    this.#showDimensions('pool_in_use', { pool }, snapshot.inUse);
    if (!partial) {
      this.#showDimensions('pool_needed', { pool }, scaling.needed);
      this.#showDimensions('pool_utilisation', { pool }, scaling.utilisation);
    }
    for (const [tenant, row] of this.#rowsOf(pool, entitlements, snapshot.inUse.tokensPerSecond, labelOf)) this.#showRow({ pool, tenant }, row);
  }

  #rowsOf(pool: string, entitlements: readonly EntitlementSnapshot[], servedByAll: number, labelOf: PoolSource['labelOf']): ReadonlyMap<string, Row> {
    const rows = new Map<string, Row>();
    for (const e of entitlements) {
      const tenant = this.#tenantIn(pool, labelOf(e.id));
      rows.set(tenant, merged(rows.get(tenant), rowOf(e, servedByAll)));
    }
    return rows;
  }

  #tenantIn(pool: string, label: string): string {
    const tenant = this.labels.tenant(label);
    const pair = `${pool}\n${tenant}`;
    if (this.#pairs.has(pair)) return tenant;
    if (this.#pairs.size >= MAX_PAIRS) return OTHER;
    this.#pairs.add(pair);
    return tenant;
  }

  #showRow(labels: Values, { amounts, baseline, priority, factors }: Row): void {
    for (const [key, value] of Object.entries(amounts)) this.#set(ENTITLEMENT_GAUGES[key as keyof Row['amounts']][0], labels, value);
    this.#set('entitlement_priority', labels, priority);
    for (const [factor, value] of Object.entries(factors)) this.#set('entitlement_factor', { ...labels, factor }, value);
    this.#showDimensions('entitlement_baseline', labels, baseline);
  }

  #showDimensions(name: string, labels: Values, of: Partial<Capacity | PoolAmounts>): void {
    for (const [dimension, value] of Object.entries(of)) {
      if (value !== null) this.#set(name, { ...labels, dimension: DIMENSIONS[dimension as keyof Capacity] }, value);
    }
  }

  #set(name: string, labels: Values, value: number): void {
    this.#gauges.get(name)!.push({ labels, value });
  }

  #register(registry: Registry, shortName: string, help: string): void {
    const name = `tokenweir_${shortName}`;
    const values: { labels: Values; value: number }[] = [];
    this.#gauges.set(shortName, values);
    const get = () => Promise.resolve({ name, help, type: 'gauge', aggregator: 'sum', values });
    // The registry wants no more of a metric than this, though its type says otherwise.
    registry.registerMetric({ name, help, get, reset: () => { values.length = 0; } } as unknown as Metric);
  }
}

const DIMENSIONS: Record<keyof Capacity, string> = {
  tokensPerSecond: 'tokens_per_second',
  requestsPerSecond: 'requests_per_second',
  kvBytes: 'kv_bytes',
  slots: 'slots',
};

/** What is shown under one tenant's name, which several entitlements may share: those of a template, or all that are `other`. */
interface Row {
  /** Added up. */
  readonly amounts: Readonly<Record<Exclude<keyof typeof ENTITLEMENT_GAUGES, 'priority'>, number>>;
  readonly baseline: Capacity;
  /** Of the one that has most of it. */
  readonly priority: number;
  readonly factors: Readonly<Record<'slo' | 'burst' | 'debt', number>>;
}

function rowOf(e: EntitlementSnapshot, servedByAll: number): Row {
  return {
    amounts: { served: e.servedTokensPerSecond, share: shareOf(e, servedByAll), debt: e.debtTokens, waiting: e.waiting, inFlight: e.inFlight },
    baseline: e.baseline,
    priority: priorityOf(e),
    factors: { slo: e.sloFactor, burst: e.burstFactor, debt: e.debtFactor },
  };
}

function merged(a: Row | undefined, b: Row): Row {
  if (a === undefined) return b;
  const sum = <K extends keyof Row['amounts']>(of: K): number => a.amounts[of] + b.amounts[of];
  const both = (of: keyof Capacity): number | null => (a.baseline[of] === null && b.baseline[of] === null ? null : (a.baseline[of] ?? 0) + (b.baseline[of] ?? 0));
  const first = a.priority >= b.priority ? a : b;
  return {
    amounts: { served: sum('served'), share: sum('share'), debt: sum('debt'), waiting: sum('waiting'), inFlight: sum('inFlight') },
    baseline: { tokensPerSecond: both('tokensPerSecond'), requestsPerSecond: both('requestsPerSecond'), kvBytes: both('kvBytes'), slots: both('slots') },
    priority: first.priority,
    factors: first.factors,
  };
}

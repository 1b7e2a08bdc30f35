import type { ServiceClass, PoolRefusalReason } from '../domain/pool.js';
import { requestsPerSecond } from './engine-throughput.js';
import type { Samples } from './measures.js';
import type { Recorder, RunSeries } from './recorder.js';
import type { PolicyName, SimSpec } from './spec.js';

/** Milliseconds; NaN where nothing was measured (null in JSON). */
export interface Percentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly mean: number;
}

export interface TenantResult {
  readonly id: string;
  readonly entitlement: string;
  readonly serviceClass: ServiceClass;
  readonly sloMs: number;
  readonly requests: number;
  /** Asks at the gate: more than requests where clients try again. */
  readonly attempts: number;
  readonly finished: number;
  readonly givenUp: number;
  readonly left: number;
  readonly lost: number;
  readonly endedStreams: number;
  /** Of attempts. */
  readonly refusals: Readonly<Record<PoolRefusalReason, number>>;
  /** From the client's first attempt. */
  readonly ttftMs: Percentiles;
  readonly latencyMs: Percentiles;
  /** At the gate, of those that were dispatched. */
  readonly waitMs: Percentiles;
  /** Of all its requests, those that finished with a first token within the SLO. */
  readonly sloShare: number;
  /** Work in tokens a second: what came, what was done, what finished within the SLO. */
  readonly offeredPerSecond: number;
  readonly servedPerSecond: number;
  readonly goodputPerSecond: number;
  /** Of all work that was done. */
  readonly share: number;
  readonly debtMaxTokens: number;
  readonly samples: { readonly ttftMs: Samples; readonly latencyMs: Samples; readonly waitMs: Samples };
}

export interface PoolResult {
  /** Shares of the slots' time: in use; free while somebody waited at the gate. */
  readonly utilisation: number;
  readonly idleWhileWaiting: number;
  readonly waitingMean: number;
  readonly waitingMax: number;
  /** Work a second that the pool can do at most: its configured rate or what the engine does with requests of this run's mean, the smaller. */
  readonly capacityPerSecond: number;
  readonly offeredPerSecond: number;
  readonly servedPerSecond: number;
  readonly goodputPerSecond: number;
  readonly preemptions: number;
  /** When the last request ended. */
  readonly endedMs: number;
  /** Requests that never ended: a fault of the run. */
  readonly unfinished: number;
}

export interface SimResult {
  readonly policy: PolicyName;
  readonly seed: number;
  readonly durationMs: number;
  readonly pool: PoolResult;
  readonly tenants: readonly TenantResult[];
  readonly series: RunSeries;
}

interface Ending {
  readonly endedMs: number;
  readonly preemptions: number;
  readonly unfinished: number;
}

/** What a run comes to. */
export function resultOf(spec: SimSpec, recorder: Recorder, ending: Ending): SimResult {
  const seconds = (spec.durationMs - (spec.warmupMs ?? 0)) / 1000;
  const total = (of: 'offeredWork' | 'servedWork' | 'goodWork'): number => recorder.tenants.reduce((sum, tenant) => sum + tenant[of], 0);
  const served = total('servedWork');
  return {
    policy: spec.policy,
    seed: spec.seed,
    durationMs: spec.durationMs,
    pool: {
      ...recorder.use(ending.endedMs),
      ...{ waitingMax: recorder.waitingMax, offeredPerSecond: total('offeredWork') / seconds, servedPerSecond: served / seconds },
      ...{ capacityPerSecond: capacityOf(spec, recorder), goodputPerSecond: total('goodWork') / seconds, ...ending },
    },
    tenants: spec.tenants.map((_, i) => tenantResult(spec, recorder, i, served)),
    series: recorder.series,
  };
}

function capacityOf({ node, nodes, pool }: SimSpec, { sums }: Recorder): number {
  const count = Math.max(1, sums.requests);
  const mean = { promptTokens: sums.promptTokens / count, uncachedTokens: sums.uncachedTokens / count, outputTokens: Math.max(1, sums.outputTokens / count) };
  const engine = requestsPerSecond(node, mean) * nodes * (mean.outputTokens + pool.prefillWeight * mean.uncachedTokens);
  return Math.min(pool.settings.capacity.tokensPerSecond ?? Infinity, engine);
}

function tenantResult(spec: SimSpec, recorder: Recorder, index: number, servedByAll: number): TenantResult {
  const tenant = spec.tenants[index]!;
  const counted = recorder.tenants[index]!;
  const entitlement = spec.pool.entitlementOf(tenant.entitlement ?? tenant.id);
  const seconds = (spec.durationMs - (spec.warmupMs ?? 0)) / 1000;
  const { requests, attempts, finished, givenUp, left, lost, endedStreams, refusals, debtMaxTokens, ttftMs, latencyMs, waitMs } = counted;
  return {
    ...{ id: tenant.id, entitlement: entitlement.id, serviceClass: entitlement.serviceClass, sloMs: entitlement.sloMs },
    ...{ requests, attempts, finished, givenUp, left, lost, endedStreams, refusals: { ...refusals }, debtMaxTokens },
    ttftMs: percentiles(ttftMs),
    latencyMs: percentiles(latencyMs),
    waitMs: percentiles(waitMs),
    sloShare: requests === 0 ? NaN : counted.withinSlo / requests,
    offeredPerSecond: counted.offeredWork / seconds,
    servedPerSecond: counted.servedWork / seconds,
    goodputPerSecond: counted.goodWork / seconds,
    share: servedByAll === 0 ? 0 : counted.servedWork / servedByAll,
    samples: { ttftMs, latencyMs, waitMs },
  };
}

function percentiles(samples: Samples): Percentiles {
  return { mean: samples.mean, p50: samples.quantile(0.5), p90: samples.quantile(0.9), p99: samples.quantile(0.99) };
}

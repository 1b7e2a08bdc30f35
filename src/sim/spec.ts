import type { PoolEntitlement } from '../domain/policy.js';
import type { PoolSettings, PoolSnapshot } from '../domain/pool.js';
import type { Work } from '../domain/request.js';
import type { Arrivals } from './arrivals.js';
import type { NodeSpec } from './engine.js';
import type { EstimateSpec } from './estimates.js';
import type { Lengths } from './lengths.js';
import type { SimObserver } from './observer.js';
import type { TraceRow } from './trace.js';

export const POLICIES = ['tokenweir', 'vtc', 'fcfs', 'static', 'none'] as const;

/**
 * Who decides. `tokenweir`: the scheduler itself. `vtc`: virtual token counters (OSDI '24). `fcfs`: first come first served, with the same
 * bounds of the queue and of waiting. `static`: a fixed rate a tenant. `none`: everything goes to the engine at once, which queues.
 */
export type PolicyName = (typeof POLICIES)[number];

/** The pool as the second gate sees it. */
export interface SimPool {
  readonly settings: PoolSettings;
  readonly prefillWeight: number;
  readonly kvBytesPerToken: number;
  readonly holdMs: Readonly<Record<Work, number>>;
  readonly entitlementOf: (tenantId: string) => PoolEntitlement;
}

/** What clients do about a refusal. */
export interface RetrySpec {
  /** Attempts in all; 1: none again. */
  readonly attempts: number;
  /** Whether they wait as long as `Retry-After` says (whole seconds, rounded up); else `afterMs`, doubled with each attempt. */
  readonly obeysRetryAfter: boolean;
  readonly afterMs: number;
}

/** One source of requests. Several may share an entitlement. */
export interface TenantSpec {
  readonly id: string;
  /** Whose entitlement it uses; default: its own. */
  readonly entitlement?: string;
  readonly arrivals: Arrivals;
  /** When it is there; default: the whole run. */
  readonly fromMs?: number;
  readonly untilMs?: number;
  readonly prompt: Lengths;
  /** Share of the prompt that the engine has cached, and the estimate knows of. Default 0. */
  readonly cachedShare?: number;
  readonly output: Lengths;
  /** `max_tokens` of its requests; null: none. Default null. */
  readonly capTokens?: number | null;
  /** Time in the engine, where its service is constant; default: the engine's. */
  readonly serviceMs?: number;
  /** Default: as its entitlement says. */
  readonly work?: Work;
  /** `x-tokenweir-max-wait-ms`; default: as the pool says for its kind of work. */
  readonly maxWaitMs?: number;
  /** Bytes of a held body; default: 4 a token of prompt. */
  readonly bodyBytes?: number;
  /** Default: one attempt. */
  readonly retry?: RetrySpec;
  /** Its clients leave if they have no first token within this; default: never. */
  readonly patienceMs?: number;
}

/** Something that happens to the pool. */
export type PoolChange =
  /** What runs on the node is lost; the pool's capacity shrinks by its share. */
  | { readonly kind: 'lost'; readonly atMs: number; readonly node: number }
  /** The node runs so many sequences from now on (0: none); those that run go on. The pool's capacity follows. Also brings a lost one back. */
  | { readonly kind: 'slots'; readonly atMs: number; readonly node: number; readonly slots: number }
  /** The pool's capacity as the scheduler is told, as a factor of the configured one; the engine stays. */
  | { readonly kind: 'told'; readonly atMs: number; readonly factor: number };

/** Adds and takes away nodes, as an autoscaler would. */
export interface ScalerSpec {
  readonly everyMs: number;
  /** From the decision until the node serves. */
  readonly startUpMs: number;
  readonly minNodes: number;
  readonly maxNodes: number;
  /** How many nodes it wants now. */
  readonly wanted: (view: ScalerView) => number;
}

export interface ScalerView {
  readonly nowMs: number;
  readonly nodes: number;
  readonly utilisation: number;
  readonly waiting: number;
  /** As the scheduler tells it; null for the policies that have none. */
  readonly snapshot: PoolSnapshot | null;
}

/** Everything that a run depends on. */
export interface SimSpec {
  readonly seed: number;
  /** Requests come for so long; the run ends when the last of them has. */
  readonly durationMs: number;
  /** Requests before this, and what is served before it, are not counted. Default 0. */
  readonly warmupMs?: number;
  readonly policy: PolicyName;
  readonly pool: SimPool;
  readonly nodes: number;
  readonly node: NodeSpec;
  readonly tenants: readonly TenantSpec[];
  /** Multiplies the rates of open arrivals, and of the trace. Default 1. */
  readonly rateFactor?: number;
  /** In order of time, for the tenants whose arrivals are `trace`. */
  readonly trace?: readonly TraceRow[];
  /** One for each processor; requests come to them in turn by chance. Default: one that learns. */
  readonly processors?: readonly EstimateSpec[];
  readonly changes?: readonly PoolChange[];
  readonly scaler?: ScalerSpec;
  /** Sets the pressure from the engine's KV cache, shares 0 to 1. Default: it stays as it is. */
  readonly pressure?: { readonly kvHigh: number; readonly kvLow: number; readonly kvCritical: number };
  /** How often processors renew their leases. Default 2,000 (in production 1,000: here it only costs time). */
  readonly renewMs?: number;
  /** How often the series have a point. Default: so that there are 240. */
  readonly sampleMs?: number;
  readonly observer?: SimObserver;
}

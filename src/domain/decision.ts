import type { Outcome, SettleResult, Shortage } from './lease.js';
import type { EndReason, PoolFactors } from './pool.js';
import type { Refusal, RefusalReason } from './refusal.js';
import type { Work } from './request.js';
import type { Usage } from './usage.js';

/** What a request is for whose path is known, and which is not metered: what it costs cannot be read from one exchange. */
export type UnmeteredKind =
  | 'count_tokens' // tells how long a prompt is; runs no model
  | 'realtime' // a connection both sides talk on, and whatever sets one up
  | 'batches' // many requests in a file, answered later
  | 'files' // uploads, vector stores, cached prompts
  | 'media' // images, speech, video
  | 'assistants' // runs on the server's side: threads, agents, interactions
  | 'fine_tuning'
  | 'moderations'
  | 'pass_through' // what else a gateway hands to a provider as it came
  | 'other'; // model work by an API that is not read here

/** Why a request passes without being metered. */
export type PassReason =
  | UnmeteredKind
  | 'method' // GET, HEAD, OPTIONS …
  | 'upgrade'
  | 'bodyless'
  | 'unknown_path'
  | 'off' // enforcement is off
  | 'stage_back' // behind the gateway: decided in front
  | 'unreadable' // shadow: a body that would have been refused
  | 'unidentified' // shadow: a request that would have been refused for its key
  | 'local_reply' // Envoy answered before the request came
  | 'store_failed'; // the store failed and the policy is to let pass

/** One word for why a request was decided as it was: `none` where it was simply admitted, `client_left` where it was never decided. */
export type DecisionReason = RefusalReason | PassReason | 'none' | 'client_left';

/** Label of a decision in metrics, log and `x-tokenweir-decision`. */
export type DecisionLabel = 'admitted' | 'refused' | 'would_refuse' | 'passed';

/** What a request says of itself beside its prompt. Of any text that a client can send, bounded and printable. */
export interface RequestLabels {
  /** The conversation it belongs to; null where nothing names one. */
  readonly session: string | null;
  /** Equal for requests that are one (`Idempotency-Key`); null without one. */
  readonly mergeKey: string | null;
  /** How many times the client has tried before; null where it does not tell. */
  readonly retry: number | null;
  readonly work: Work;
}

/** The same as far as it was read: the kind of work is null where only headers were, and they do not tell it. */
export type ReadLabels = Omit<RequestLabels, 'work'> & { readonly work: Work | null };

/** How a pool decided a request, and by which figures. */
export interface PoolDecision {
  readonly poolId: string;
  /** How long it was held, in milliseconds; 0 where it went on or was refused at once. */
  readonly waitedMs: number;
  readonly factors: PoolFactors;
}

/** All that is told about one request when it is over: what metrics, log line and access log are made from. */
export interface RequestRecord {
  readonly requestId: string;
  /** Envoy's own id of the request; null where it told none. */
  readonly envoyRequestId: string | null;
  readonly leaseId: string | null;
  readonly traceParent: string | null;
  readonly tenantId: string | null;
  readonly tenantLabel: string;
  readonly keyId: string | null;
  readonly api: string | null;
  readonly model: string | null;
  /** Model that answered, as the response names it; null where it told none. */
  readonly responseModel: string | null;
  /** The body's own output cap for one choice; null without one. */
  readonly outputCapTokens: number | null;
  readonly stream: boolean;
  /** Null where the request passed unread. */
  readonly labels: ReadLabels | null;
  readonly decision: DecisionLabel;
  readonly reason: DecisionReason;
  readonly refusal: Refusal | null;
  readonly wouldRefuse: Shortage | null;
  /** Null where no pool was asked, or none answered. */
  readonly pool: PoolDecision | null;
  readonly outcome: Outcome | null;
  /** Why its pool ended it; null where it did not. */
  readonly endReason: EndReason | null;
  readonly status: number | null;
  /** 0 where nothing was estimated: it passed unread, or was refused before. */
  readonly estimatedInputTokens: number;
  /** How far the truth was expected to lie from the estimate, as a share of it; null where nothing was estimated. */
  readonly estimateErrorShare: number | null;
  readonly reservedOutputTokens: number;
  /** What was charged; null where nothing was. */
  readonly usage: Usage | null;
  /** True where the charge is (in part) our estimate. */
  readonly estimated: boolean;
  /** Without the time that it was held. */
  readonly decisionMs: number;
  /** Until the first output passed; null without output. */
  readonly firstTokenMs: number | null;
  readonly totalMs: number;
}

/** Told about every request and fault; implementations must not throw. */
export interface Observer {
  streamOpened(): void;
  streamClosed(): void;
  leaseOpened(): void;
  leaseClosed(): void;
  decided(decisionMs: number): void;
  finished(record: RequestRecord): void;
  unmetered(why: PassReason): void;
  /** true/estimated prompt tokens of a request whose upstream told usage. */
  estimateRatio(model: string, ratio: number): void;
  /** A lease of ours was settled at the store, which took it so. */
  settled(result: SettleResult, leaseId: string): void;
  /** So many leases of whomsoever were settled for dead. */
  reaped(leases: number): void;
  storeCall(op: string, seconds: number, failed: boolean): void;
  /** Something went wrong that traffic did not notice, by kind. */
  fault(kind: FaultKind, error: unknown): void;
}

export type FaultKind =
  | 'session' // an exception while handling one stream
  | 'protocol' // Envoy sent what the protocol does not allow
  | 'unsupported_modes' // the filter is configured with body modes that can't work
  | 'response_unreadable' // an upstream's answer could not be read
  | 'store' // the store failed where a decision was needed
  | 'settle' // a settlement failed and is tried again
  | 'renew' // the store was not told which leases live
  | 'pool' // a pool's queue was not looked after: told again with the next call
  | 'reap' // leases of dead processors were not looked for
  | 'ledger' // events could not be handed to their sink, and wait in the store
  | 'exact_counting' // a prompt's tokens could not be counted: the estimate was taken
  | 'unhandled' // a promise that nobody waited for failed: a bug of ours
  | 'reload'; // a configuration file was not taken

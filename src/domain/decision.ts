import type { Outcome, Shortage } from './lease.js';
import type { Refusal, RefusalReason } from './refusal.js';
import type { Usage } from './usage.js';

/** Why a request passes without being metered. */
export type PassReason =
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
  readonly decision: DecisionLabel;
  readonly reason: DecisionReason;
  readonly refusal: Refusal | null;
  readonly wouldRefuse: Shortage | null;
  readonly outcome: Outcome | null;
  readonly status: number | null;
  readonly estimatedInputTokens: number;
  readonly reservedOutputTokens: number;
  /** What was charged; null where nothing was. */
  readonly usage: Usage | null;
  /** True where the charge is (in part) our estimate. */
  readonly estimated: boolean;
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
  | 'unhandled' // a promise that nobody waited for failed: a bug of ours
  | 'reload'; // a configuration file was not taken

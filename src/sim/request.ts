import type { PoolEntitlement } from '../domain/policy.js';
import type { PoolRefusalReason } from '../domain/pool.js';
import type { Work } from '../domain/request.js';
import type { Phase, Sequence } from './engine.js';

/** What a request brings, and what is estimated of it. */
export interface RequestParts {
  readonly index: number;
  readonly tenant: number;
  readonly entitlement: PoolEntitlement;
  readonly work: Work;
  readonly maxWaitMs: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  readonly capTokens: number | null;
  readonly serviceMs: number;
  readonly bytes: number;
  /** Of a closed loop; −1 else. */
  readonly client: number;
}

/** `asked`: at the gate or waiting there; `running`: in the engine, or its queue; `over`. */
export type RequestState = 'asked' | 'running' | 'over';

/** One attempt of one request. All times in milliseconds of the virtual clock; NaN: not yet. */
export class SimRequest implements Sequence {
  // One shape for all, so that the loops over them stay fast.
  readonly index: number;
  readonly leaseId: string;
  readonly parts: RequestParts;
  readonly attempt: number;
  /** When the client first asked: latency counts from there. */
  readonly firstAskedMs: number;
  readonly askedMs: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  readonly serviceMs: number;
  processor = 0;
  /** Demand, as estimated by its processor. */
  expectedWork = 1;
  kvBytes = 0;
  /** Work that it takes if it runs to its end. */
  trueWork = 1;
  state: RequestState = 'asked';
  dispatchedMs = NaN;
  firstTokenMs = NaN;
  endedMs = NaN;
  /** Tokens of output that were made when it ended. */
  made = 0;
  refused: PoolRefusalReason | null = null;
  /** Of the last attempt that was refused. */
  neededWaitMs = 0;
  endedWhy: EndedWhy | null = null;
  // Of the engine.
  node = -1;
  phase: Phase = 'outside';
  generatedBefore = 0;
  mark = 0;
  heapIndex = -1;
  heapKey = 0;

  constructor(parts: RequestParts, attempt: number, firstAskedMs: number, askedMs: number) {
    this.parts = parts;
    this.index = parts.index;
    this.leaseId = `${parts.index}.${attempt}`;
    this.attempt = attempt;
    this.firstAskedMs = firstAskedMs;
    this.askedMs = askedMs;
    this.promptTokens = parts.promptTokens;
    this.cachedTokens = parts.cachedTokens;
    this.outputTokens = parts.outputTokens;
    this.serviceMs = parts.serviceMs;
  }
}

/** How an attempt ended. `left`: the client lost patience; `lost`: its node was; `reclaimed`, `pressure`: the scheduler ended it. */
export type EndedWhy = 'finished' | 'refused' | 'left' | 'lost' | 'reclaimed' | 'pressure';

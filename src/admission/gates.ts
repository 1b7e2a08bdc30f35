import type { PoolDecision, RequestLabels } from '../domain/decision.js';
import type { OutputEstimate, PromptEstimate } from '../domain/estimate.js';
import type { LedgerEvent, Level, Shortage } from '../domain/lease.js';
import type { Policy } from '../domain/policy.js';
import type { PoolDemand } from '../domain/pool.js';
import type { Refusal } from '../domain/refusal.js';
import type { RequestFacts } from '../domain/request.js';
import type { Tenant } from '../domain/tenant.js';
import type { RequestSpan } from '../domain/tracing.js';
import type { PoolPlace } from './pool-place.js';
import type { Presence } from './presence.js';

/** A request starts to wait. */
export interface Hold {
  readonly facts: RequestFacts;
  /** How long at most, in milliseconds. */
  readonly maxWaitMs: number;
  /** As it stands when the wait begins. */
  readonly pool: PoolDecision;
}

/** Who shows us the traffic, as far as gates that make it wait need to know. */
export interface HoldHost {
  readonly presence: Presence;
  held(hold: Hold): void;
}

/** What a gate is asked about. */
export interface Demand {
  readonly leaseId: string;
  readonly tenant: Tenant;
  readonly facts: RequestFacts;
  readonly prompt: PromptEstimate;
  readonly output: OutputEstimate;
  readonly policy: Policy;
  readonly nowMs: number;
  /** What is booked should nobody settle the lease. */
  readonly draft: LedgerEvent;
  /** Where it belongs; null: to no pool. */
  readonly place: PoolPlace | null;
  /** Shadow: nothing is refused, and nothing waits. */
  readonly mode: 'enforce' | 'shadow';
  readonly labels: RequestLabels;
  /** How long its client lets it wait, in milliseconds; null: as long as the pool does. */
  readonly clientMaxWaitMs: number | null;
  /** Bytes of its body. */
  readonly bodyBytes: number;
  readonly host: HoldHost;
}

/** What a request took of a pool. */
export interface PoolShare {
  readonly place: PoolPlace;
  readonly demand: PoolDemand;
}

export type GateVerdict =
  | {
      readonly kind: 'admitted';
      readonly levels: readonly Level[];
      /** What limits in shadow would have refused, for now … */
      readonly wouldRefuse: Shortage | null;
      /** … or for good, or a pool for want of room. */
      readonly shadowRefusal: Refusal | null;
      /** Null where no pool was asked … */
      readonly pool: PoolDecision | null;
      /** … or it gave nothing, in shadow. */
      readonly share: PoolShare | null;
    }
  | { readonly kind: 'refused'; readonly refusal: Refusal; readonly levels: readonly Level[]; readonly pool: PoolDecision | null }
  /** The client left while it waited: nothing is held. */
  | { readonly kind: 'left' };

type AdmittedVerdict = Extract<GateVerdict, { kind: 'admitted' }>;

/** One of the things that must all agree before a request goes on. */
export interface Gate {
  readonly name: string;
  /** False: it has nothing to say of this request, and is not asked. */
  concerns(demand: Demand): boolean;
  reserve(demand: Demand): Promise<GateVerdict>;
  /** Gives back all that `reserve` took under this lease, and does not give up before it is taken. */
  refund(demand: Demand): void;
  /** The gate failed: perhaps only its answer was lost, and a lease of nobody is open. Tried once: a store that is away forgets it by itself. */
  abandon(demand: Demand): void;
}

/** Asks the gates in order. The first that refuses, or fails, ends it, and those before it give back what they took. Rejects as the gate does. */
export async function passGates(gates: readonly Gate[], demand: Demand, span: RequestSpan): Promise<GateVerdict> {
  const passed: Gate[] = [];
  const admitted: AdmittedVerdict[] = [];
  for (const gate of gates) {
    if (!gate.concerns(demand)) continue;
    let verdict: GateVerdict;
    try {
      verdict = await asked(gate, demand, span);
    } catch (error) {
      gate.abandon(demand);
      refundAll(passed, demand);
      throw error;
    }
    if (verdict.kind !== 'admitted') {
      refundAll(passed, demand);
      return verdict;
    }
    passed.push(gate);
    admitted.push(verdict);
  }
  // With a single gate there is nothing to put together.
  return admitted.length === 1 ? admitted[0]! : together(admitted);
}

function refundAll(gates: readonly Gate[], demand: Demand): void {
  for (const gate of gates) gate.refund(demand);
}

async function asked(gate: Gate, demand: Demand, span: RequestSpan): Promise<GateVerdict> {
  const phase = span.child(gate.name);
  let kind: GateVerdict['kind'] | 'store_failed' = 'store_failed';
  try {
    const verdict = await gate.reserve(demand);
    kind = verdict.kind;
    return verdict;
  } finally {
    phase.end({ 'tokenweir.verdict': kind });
  }
}

function together(admitted: readonly AdmittedVerdict[]): AdmittedVerdict {
  const first = <T>(of: (verdict: AdmittedVerdict) => T | null): T | null => admitted.map(of).find((value) => value !== null) ?? null;
  return {
    kind: 'admitted',
    levels: admitted.flatMap(({ levels }) => levels),
    wouldRefuse: first(({ wouldRefuse }) => wouldRefuse),
    shadowRefusal: first(({ shadowRefusal }) => shadowRefusal),
    pool: first(({ pool }) => pool),
    share: first(({ share }) => share),
  };
}

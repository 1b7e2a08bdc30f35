import type { OutputEstimate, PromptEstimate } from '../domain/estimate.js';
import type { LedgerEvent, Level, Shortage } from '../domain/lease.js';
import type { Policy } from '../domain/policy.js';
import type { Refusal } from '../domain/refusal.js';
import type { RequestFacts } from '../domain/request.js';
import type { Tenant } from '../domain/tenant.js';

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
}

export type GateVerdict =
  | {
      readonly kind: 'admitted';
      readonly levels: readonly Level[];
      /** What limits in shadow would have refused, for now … */
      readonly wouldRefuse: Shortage | null;
      /** … or for good. */
      readonly shadowRefusal: Refusal | null;
    }
  | { readonly kind: 'refused'; readonly refusal: Refusal; readonly levels: readonly Level[] };

/** One of the things that must all agree before a request goes on. */
export interface Gate {
  readonly name: string;
  reserve(demand: Demand): Promise<GateVerdict>;
  /** Gives back all that `reserve` took under this lease. */
  refund(leaseId: string): Promise<void>;
}

/** Asks the gates in order. The first that refuses ends it, and those before it give back what they took. */
export async function passGates(gates: readonly Gate[], demand: Demand): Promise<GateVerdict> {
  const admitted: Extract<GateVerdict, { kind: 'admitted' }>[] = [];
  for (const [i, gate] of gates.entries()) {
    const verdict = await gate.reserve(demand);
    if (verdict.kind === 'refused') {
      await Promise.all(gates.slice(0, i).map((passed) => passed.refund(demand.leaseId)));
      return verdict;
    }
    admitted.push(verdict);
  }
  // With a single gate there is nothing to put together.
  if (admitted.length === 1) return admitted[0]!;
  return {
    kind: 'admitted',
    levels: admitted.flatMap(({ levels }) => levels),
    wouldRefuse: admitted.find(({ wouldRefuse }) => wouldRefuse !== null)?.wouldRefuse ?? null,
    shadowRefusal: admitted.find(({ shadowRefusal }) => shadowRefusal !== null)?.shadowRefusal ?? null,
  };
}

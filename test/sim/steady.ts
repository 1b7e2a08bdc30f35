import type { NodeSpec } from '../../src/sim/engine.js';
import { EXACT } from '../../src/sim/estimates.js';
import type { SimSpec, TenantSpec } from '../../src/sim/spec.js';

/** Of experiments with known answers: every request takes 0.85 s and 85 tokens of work, so that a slot does 100 tokens a second. */
export const SERVICE_MS = 850;
export const WORK = 85;
export const SLOT_PER_SECOND = (WORK * 1000) / SERVICE_MS;
export const FIRST_TOKEN_MS = 50;

export function steadyNode(slots: number): NodeSpec {
  return { kind: 'constant', slots, serviceMs: SERVICE_MS, firstTokenMs: FIRST_TOKEN_MS };
}

/** Requests a second that take this share of so many slots. */
export function rateOf(share: number, slots: number): number {
  return (share * slots * 1000) / SERVICE_MS;
}

export function steadyTenant(id: string, arrivals: TenantSpec['arrivals'], more: Partial<TenantSpec> = {}): TenantSpec {
  return { id, arrivals, prompt: { kind: 'fixed', tokens: 1 }, output: { kind: 'fixed', tokens: WORK }, ...more };
}

/** Estimates are exact: what the experiment is about is the order. */
export const STEADY = { nodes: 1, processors: [EXACT] } as const satisfies Partial<SimSpec>;

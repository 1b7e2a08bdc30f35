import type { Observer, PassReason, RequestRecord } from '../../src/domain/decision.js';
import type { Enforcement } from '../../src/domain/enforcement.js';
import type { ExactCounter } from '../../src/domain/exact.js';
import type { SettleResult } from '../../src/domain/lease.js';
import type { Policy } from '../../src/domain/policy.js';
import type { PoolStore } from '../../src/domain/pool.js';
import type { Store } from '../../src/domain/store.js';
import type { Tenant } from '../../src/domain/tenant.js';
import { NO_TRACING } from '../../src/domain/tracing.js';
import { createAdmission, type Admission } from '../../src/admission/admission.js';
import { createEstimator } from '../../src/estimate/estimator.js';
import { sha256Hex } from '../../src/lib/hash.js';
import { VirtualClock } from '../../src/lib/virtual-clock.js';
import { createMemoryStore } from '../../src/stores/memory.js';
import { createMemoryPools } from '../../src/stores/memory-pools.js';
import { UNMETERED } from './policies.js';

/** An observer that remembers what it was told. */
export class Witness implements Observer {
  readonly records: RequestRecord[] = [];
  readonly passed: PassReason[] = [];
  readonly faults: string[] = [];
  readonly errors: unknown[] = [];
  readonly storeCalls: { op: string; failed: boolean }[] = [];
  readonly settlements: SettleResult[] = [];
  reapedLeases = 0;
  leases = 0;
  streams = 0;
  streamOpened(): void { this.streams++; }
  streamClosed(): void { this.streams--; }
  leaseOpened(): void { this.leases++; }
  leaseClosed(): void { this.leases--; }
  decided(): void { /* durations are virtual here */ }
  finished(record: RequestRecord): void { this.records.push(record); }
  unmetered(why: PassReason): void { this.passed.push(why); }
  estimateRatio(): void { /* learned elsewhere */ }
  settled(result: SettleResult): void { this.settlements.push(result); }
  reaped(leases: number): void { this.reapedLeases += leases; }
  storeCall(op: string, _seconds: number, failed: boolean): void { this.storeCalls.push({ op, failed }); }
  fault(kind: string, error: unknown): void { this.faults.push(kind); this.errors.push(error); }
}

export { limit, tenant } from './policies.js';

/** A policy with these tenants; anonymous and unknown keys are refused. */
export function policyOf(tenants: Tenant[], more: Partial<Omit<Policy, 'identity'>> & { identity?: Partial<Policy['identity']> } = {}): Policy {
  return {
    enforcement: 'enforce' as Enforcement, pools: [], unknownPaths: 'pass', unmetered: UNMETERED, background: 'meter', exactCounting: null, maxBodyBytes: 1_000_000, unknownOutputTokens: 100,
    maxOutputTokens: () => null, asksForUsage: () => true,
    ...more,
    tenants: new Map(tenants.map((each) => [each.id, each])),
    identity: {
      keys: new Map(tenants.map(({ id }) => [sha256Hex(`key-${id}`), id])), anonymousTenantId: null, unknownKeyTemplateId: null,
      maxTemplateTenants: 100, trustedTenantHeader: null, jwt: null, ...more.identity,
    },
  };
}

/** Where nobody counts. */
const NO_EXACT_COUNTER: ExactCounter = { count: async () => null, close: async () => undefined };

export interface Harness {
  readonly admission: Admission;
  readonly clock: VirtualClock;
  readonly store: Store;
  readonly pools: PoolStore;
  readonly witness: Witness;
  policy: Policy;
}

/** Admission over a memory store on virtual time. */
export function harness(policy: Policy, store: Store = createMemoryStore(), exactCounter: ExactCounter = NO_EXACT_COUNTER, pools: PoolStore = createMemoryPools()): Harness {
  const clock = new VirtualClock(1_000_000);
  const witness = new Witness();
  let ids = 0;
  const made: Harness = {
    clock, store, pools, witness, policy,
    admission: createAdmission({
      policy: () => made.policy, store, pools, estimator: createEstimator(), exactCounter, observer: witness, tracing: NO_TRACING, clock,
      newId: () => `id-${++ids}`, owner: 'processor', random: () => 0,
    }),
  };
  return made;
}

/** Lets everything that waits for promises only run to its end; `decodes` gives zlib's threads their turn as well. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

import fc from 'fast-check';
import type { BucketCharge, Consumption } from '../../src/domain/lease.js';
import type { BucketSpec } from '../../src/domain/store.js';
import type { LimitDimension } from '../../src/domain/tenant.js';

/** One step of a random history. Leases are named by a small number, so that steps meet each other's leases. */
export type Step =
  | { readonly kind: 'reserve'; readonly lease: number; readonly enforced: readonly BucketCharge[]; readonly shadowed: readonly BucketCharge[] }
  | { readonly kind: 'renew'; readonly lease: number; readonly outputTokens: number }
  | { readonly kind: 'settle'; readonly lease: number; readonly consumed: Consumption }
  | { readonly kind: 'cancel'; readonly lease: number }
  | { readonly kind: 'wait'; readonly ms: number };

/** How many leases run at most. */
export const LEASES = 4;
const DIMENSIONS: readonly LimitDimension[] = ['requests', 'tokens', 'inputTokens', 'outputTokens', 'concurrency'];

/** A few buckets of random numbers: two tenants, every dimension. */
export const bucketSpecs: fc.Arbitrary<readonly BucketSpec[]> = fc
  .uniqueArray(fc.record({ tenantId: fc.constantFrom('acme', 'corp'), dimension: fc.constantFrom(...DIMENSIONS) }), {
    minLength: 1,
    maxLength: 6,
    selector: ({ tenantId, dimension }) => `${tenantId}/${dimension}`,
  })
  .chain((names) => fc.tuple(...names.map((name) => numbersOf(name))));

/** A random history over some buckets; without `wait` steps time stands still. */
export function histories(specs: readonly BucketSpec[], options: { readonly waits: boolean }): fc.Arbitrary<readonly Step[]> {
  const lease = fc.nat({ max: LEASES - 1 });
  const tokens = fc.nat({ max: 600 });
  const consumed = fc
    .record({ inputTokens: tokens, outputTokens: tokens, cachedInputTokens: tokens })
    .map((figures) => ({ ...figures, cachedInputTokens: Math.min(figures.inputTokens, figures.cachedInputTokens) }));
  const steps: fc.Arbitrary<Step>[] = [
    fc.tuple(lease, charges(specs)).map(([n, [enforced, shadowed]]) => ({ kind: 'reserve', lease: n, enforced, shadowed })),
    fc.record({ kind: fc.constant('renew' as const), lease, outputTokens: fc.nat({ max: 900 }) }),
    fc.record({ kind: fc.constant('settle' as const), lease, consumed }),
    fc.record({ kind: fc.constant('cancel' as const), lease }),
  ];
  if (options.waits) steps.push(fc.record({ kind: fc.constant('wait' as const), ms: fc.nat({ max: 20_000 }) }));
  return fc.array(fc.oneof(...steps), { maxLength: 60 });
}

function numbersOf({ tenantId, dimension }: { tenantId: string; dimension: LimitDimension }): fc.Arbitrary<BucketSpec> {
  const key = `${tenantId}/*:${dimension}`;
  const limit = dimension === 'concurrency' ? fc.integer({ min: 1, max: 4 }) : fc.integer({ min: 1, max: 2_000 });
  return fc.record({ limit, burst: fc.integer({ min: 1, max: 2_000 }), countCachedInput: fc.boolean() }).map(({ limit: rate, burst, countCachedInput }) => ({
    key,
    tenantId,
    dimension,
    limit: rate,
    capacity: dimension === 'concurrency' ? rate : burst,
    countCachedInput,
  }));
}

/** Some of the buckets, each enforced or shadowed, with random amounts that fit in them. */
function charges(specs: readonly BucketSpec[]): fc.Arbitrary<[BucketCharge[], BucketCharge[]]> {
  const one = (spec: BucketSpec) =>
    fc.record({ use: fc.constantFrom('enforced', 'shadowed', 'none'), input: fc.nat({ max: 400 }), output: fc.nat({ max: 400 }) }).map(({ use, input, output }) => ({ use, charge: chargeOf(spec, input, output) }));
  return fc.tuple(...specs.map(one)).map((chosen) => [
    chosen.filter(({ use }) => use === 'enforced').map(({ charge }) => charge),
    chosen.filter(({ use }) => use === 'shadowed').map(({ charge }) => charge),
  ]);
}

function chargeOf(spec: BucketSpec, input: number, output: number): BucketCharge {
  const counted = spec.dimension === 'tokens' || spec.dimension === 'inputTokens' ? input : 0;
  const wanted = spec.dimension === 'requests' || spec.dimension === 'concurrency' ? 1 : counted + (spec.dimension === 'inputTokens' ? 0 : output);
  const amount = Math.min(spec.capacity, wanted);
  return { ...spec, amount, inputAmount: Math.min(amount, counted) };
}

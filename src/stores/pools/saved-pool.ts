import { z } from 'zod';
import type { SavedPool } from '../../pool/moving.js';

const amount = z.number();
const rates = z.object({ served: amount, demand: amount, overuse: amount, debt: amount, updatedMs: amount });
const bucket = z.object({ lacking: amount, atMs: amount });
const capacity = z.object({ tokensPerSecond: amount.nullable(), requestsPerSecond: amount.nullable(), kvBytes: amount.nullable(), slots: amount.nullable() });
const entitlement = z.object({
  id: z.string(),
  serviceClass: z.enum(['dedicated', 'guaranteed', 'elastic', 'spot']),
  baseline: capacity,
  classWeight: amount,
  sloMs: amount,
  lend: z.enum(['all', 'spot', 'none']),
  preemptible: z.boolean(),
});
const savedPool: z.ZodType<SavedPool> = z.object({
  atMs: amount,
  lastV: amount,
  rates,
  tier0Rates: rates,
  workBucket: bucket,
  requestBucket: bucket,
  entitlements: z.array(z.object({ config: entitlement, v: amount, rates, bucket, waits: z.boolean() })),
});

/** What a keeper saved, as text; null: nothing, or what another release or anybody else wrote: it is as if nothing had been saved. */
export function savedPoolOf(text: string | null): SavedPool | null {
  if (text === null) return null;
  try {
    return savedPool.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

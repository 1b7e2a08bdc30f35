import { z } from 'zod';
import { MAX_POOL_BYTES, MAX_RATE, MAX_SLOTS } from './defaults.js';
import { parseSize } from './size.js';

/** Those parts of pools and entitlements that checks across fields need, read as leniently as `outline.ts` does. */

const text = z.string().nullable().catch(null);
const texts = z.array(text).catch([]);
const rate = z.int().min(1).max(MAX_RATE).nullable().catch(null);
const slots = z.int().min(1).max(MAX_SLOTS).nullable().catch(null);
const bytes = z
  .unknown()
  .transform((given) => (typeof given === 'number' || typeof given === 'string' ? parseSize(given) : null))
  .pipe(z.int().min(1).max(MAX_POOL_BYTES).nullable())
  .catch(null);

const numbers = z.object({ tokensPerSecond: rate, kvBytes: bytes, slots, requestsPerMinute: rate, tokensPerMinute: rate });
/** `told`: the fields that say something, be it wrong. Null: not there, or no mapping. */
const amounts = z
  .record(z.string(), z.unknown())
  .transform((raw) => ({ ...numbers.parse(raw), told: Object.keys(raw).filter((field) => (raw[field] ?? null) !== null) }))
  .nullable()
  .catch(null);
const kind = z.enum(['self-hosted', 'provider']).nullable().catch(null);
const serviceClass = z.enum(['dedicated', 'guaranteed', 'elastic', 'spot']).nullable().catch(null);
/** Whether a field says anything but its default. */
const isGiven = z.unknown().transform((given) => given !== undefined && given !== null && given !== 0).catch(false);

const NO_POOL = { id: null, kind: null, models: [], provider: false, kvBytesPerToken: false, capacity: null, limits: null };
const NO_ENTITLEMENT = { tenant: null, pool: null, class: null, baseline: null };

export const poolOutlines = {
  pools: z.array(z.object({ id: text, kind, models: texts, provider: isGiven, kvBytesPerToken: isGiven, capacity: amounts, limits: amounts }).catch(NO_POOL)).catch([]),
  entitlements: z.array(z.object({ tenant: text, pool: text, class: serviceClass, baseline: amounts }).catch(NO_ENTITLEMENT)).catch([]),
};

import { z } from 'zod';
import { DEFAULTS, MAX_BURST_SECONDS, MAX_HOLD_MS, MAX_POOL_BYTES, MAX_RATE, MAX_SLOTS } from './defaults.js';
import { optional, required, section } from './fields.js';
import { glob, id, sizeUpTo } from './values.js';

const MAX_WAITING = 1_000_000;
const MAX_PREFILL_WEIGHT = 100;
const MAX_CLASS_WEIGHT = 1000;
const MAX_RECLAIM_MS = 600_000;
const MAX_SLO_MS = 3_600_000;
/** More than any model takes (a large one without grouped attention: some MB). */
const MAX_BYTES_A_TOKEN = 1024 ** 3;

const rate = z.int().min(1).max(MAX_RATE).nullable();
const slots = z.int().min(1).max(MAX_SLOTS).nullable();
const poolBytes = sizeUpTo(MAX_POOL_BYTES, '1024TiB').nullable();
const tooLong = `must be at most ${MAX_HOLD_MS}: Envoy holds a request no longer (max_message_timeout)`;
const holdMs = z.int().min(0).max(MAX_HOLD_MS, { error: tooLong });
const bytesPerToken = z.int().min(0).max(MAX_BYTES_A_TOKEN);
const classWeight = z.int().min(1).max(MAX_CLASS_WEIGHT);
const notNumber = 'must be a number';
const prefillWeight = z
  .number({ error: ({ code, input }) => (code === 'invalid_type' && input !== null && input !== undefined ? notNumber : undefined) })
  .min(0)
  .max(MAX_PREFILL_WEIGHT);

const capacity = z.strictObject({
  tokensPerSecond: optional(rate, DEFAULTS.capacityDimension, 'Work a second at full load: output tokens, and prompt tokens × `prefillWeight`.', 2400),
  kvBytes: optional(poolBytes, DEFAULTS.capacityDimension, 'KV cache of all its servers together. Needs `kvBytesPerToken`.', '40GiB'),
  slots: optional(slots, DEFAULTS.capacityDimension, 'Sequences that run at one time.', 64),
});

const providerLimits = z.strictObject({
  requestsPerMinute: optional(rate, DEFAULTS.capacityDimension, 'Requests a minute.', 10_000),
  tokensPerMinute: optional(rate, DEFAULTS.capacityDimension, 'Tokens a minute, as the provider counts them.', 2_000_000),
});

const bytesOfModels = z.strictObject({
  models: required(z.array(glob).min(1), 'Models it speaks of. The first entry that matches counts; a model that none matches counts as the largest of them.', ['llama-3*']),
  bytes: required(bytesPerToken, 'Bytes a token: 2 × layers × KV heads × head size × bytes a number.', 131_072),
});

const classWeights = z.strictObject({
  dedicated: optional(classWeight, DEFAULTS.classWeight, 'Of what a dedicated tenant asks beyond its baseline.'),
  guaranteed: optional(classWeight, DEFAULTS.classWeight, 'Of what a guaranteed tenant asks beyond its baseline.'),
  elastic: optional(classWeight, DEFAULTS.classWeight, 'Of elastic tenants.'),
});

const hold = z.strictObject({
  interactiveMs: optional(holdMs, DEFAULTS.holdInteractiveMs, 'Longest that an interactive request waits for room; then 429. 0: not at all.'),
  backgroundMs: optional(holdMs, DEFAULTS.holdBackgroundMs, 'The same for background work.'),
  maxRequests: optional(z.int().min(0).max(MAX_WAITING), DEFAULTS.holdMaxRequests, 'How many may wait at one time, over all processors.'),
  maxBytes: optional(sizeUpTo(MAX_POOL_BYTES, '1024TiB'), DEFAULTS.holdMaxBytes, 'How many bytes of bodies may be held for them, over all processors.'),
});

export const pool = z.strictObject({
  id: required(id, 'Its name, in metrics and refusals too.', 'chat'),
  kind: required(z.enum(['self-hosted', 'provider']), 'Servers of your own, measured in work, memory and slots; or a provider that limits you by the minute.', 'self-hosted'),
  provider: optional(id.nullable(), DEFAULTS.provider, 'Which provider it is, for people who read the file: nothing depends on it. Only with `kind: provider`.'),
  models: required(z.array(glob).min(1), 'Models that are served by it. The first pool that matches a model has it; a model without a pool is not scheduled.', ['llama-3*']),
  capacity: section(capacity, 'What it has, with `kind: self-hosted`.'),
  limits: optional(providerLimits.nullable(), DEFAULTS.providerLimits, 'What the provider allows you, with `kind: provider`.'),
  burstSeconds: optional(z.int().min(1).max(MAX_BURST_SECONDS), DEFAULTS.poolBurstSeconds, 'Rates of the pool and of baselines are buckets of so many seconds.'),
  prefillWeight: optional(prefillWeight.nullable(), DEFAULTS.prefillWeight, 'What a token of a prompt weighs against one of output: your servers’ output tokens a second at full load ÷ the prompt tokens they read a second.', 0.25),
  kvBytesPerToken: optional(
    z.union([bytesPerToken, z.array(bytesOfModels).min(1)]),
    DEFAULTS.kvBytesPerToken,
    'KV cache that a token takes, in bytes: one number, or by model. Only with `kind: self-hosted`.',
  ),
  classWeights: section(classWeights, 'Weights in the fair share, where tenants compete beyond what is assured.'),
  hold: section(hold, 'Requests that wait for room in the pool.'),
  reclaimMs: optional(z.int().min(0).max(MAX_RECLAIM_MS), DEFAULTS.reclaimMs, 'How long an assured request waits for room that others borrowed before a stream that may be ended (`preemptible`) is. Spot streams are ended at once.'),
});

const baseline = z.strictObject({
  tokensPerSecond: optional(rate, DEFAULTS.baselineTokens, 'Work a second.', 800),
  kvBytes: optional(poolBytes, DEFAULTS.baselineDimension, 'KV cache.', '10GiB'),
  slots: optional(slots, DEFAULTS.baselineDimension, 'Sequences at one time. Without `tokensPerSecond` they stand for that share of the pool’s work too.', 16),
  requestsPerMinute: optional(rate, DEFAULTS.baselineDimension, 'In pools of kind `provider`: requests a minute. Without `tokensPerMinute` it stands for that share of the pool’s tokens.'),
  tokensPerMinute: optional(rate, DEFAULTS.baselineTokens, 'In pools of kind `provider`: tokens a minute.'),
});

export const entitlement = z.strictObject({
  tenant: required(id, 'Whose it is. Tenants below it share it, unless they have their own; and all that are made from it, where it is the template of `identity.unknownKey`.', 'acme'),
  pool: required(id, 'Where.', 'chat'),
  class: required(
    z.enum(['dedicated', 'guaranteed', 'elastic', 'spot']),
    '`dedicated` and `guaranteed` come first within their baseline; `elastic` shares what is left, and is paid back later what its baseline missed; `spot` takes what nobody else wants, and never waits.',
    'guaranteed',
  ),
  baseline: section(baseline, 'What it is assured of. `dedicated` and `guaranteed` need one, `spot` has none.'),
  sloMs: optional(z.int().min(1).max(MAX_SLO_MS), DEFAULTS.sloMs, 'Time to the first token that is wanted: less weighs more in the fair share (by the square root, a quarter to four times). Nothing for spot.'),
  work: optional(z.enum(['interactive', 'background']), DEFAULTS.work, 'Kind of work of requests that do not say (`x-tokenweir-work`): it tells how long they may wait.'),
  lend: optional(z.enum(['all', 'spot', 'none']), DEFAULTS.lend, 'Who may borrow the slots and KV cache of its baseline while they idle.'),
  preemptible: optional(z.boolean().nullable(), DEFAULTS.preemptible, 'Whether its streams above its baseline may be ended where an assured request needs the room.', false),
});

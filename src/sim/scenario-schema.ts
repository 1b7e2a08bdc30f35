import { z } from 'zod';
import { ENGINE_PRESETS } from './engine-presets.js';

const positive = z.number().positive().max(1e9);
/** Shorter spans would be nothing but switching. */
const span = z.number().min(0.001).max(1e9);
const notNegative = z.number().min(0).max(1e9);
const tokens = z.int().min(1).max(10_000_000);
const count = z.int().min(1).max(100_000);

const lengths = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('fixed'), tokens }),
  z.strictObject({ kind: z.literal('lognormal'), median: positive, sigma: z.number().min(0).max(5), max: tokens.default(32_768) }),
  z.strictObject({ kind: z.literal('uniform'), min: tokens, max: tokens }),
]);

const arrivals = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('poisson'), perSecond: notNegative }),
  z.strictObject({ kind: z.literal('regular'), perSecond: notNegative }),
  z.strictObject({ kind: z.literal('bursts'), onPerSecond: notNegative, offPerSecond: notNegative.default(0), onSeconds: span, offSeconds: span }),
  z.strictObject({ kind: z.literal('closed'), clients: count, thinkSeconds: notNegative.default(0) }),
  z.strictObject({ kind: z.literal('trace'), weight: positive.default(1) }),
]);

const retry = z.strictObject({
  attempts: z.int().min(1).max(1000).default(3),
  obeysRetryAfter: z.boolean().default(true),
  afterMs: positive.default(500),
});

const tenant = z.strictObject({
  id: z.string().min(1).max(128),
  entitlement: z.string().min(1).max(128).optional(),
  arrivals,
  fromSeconds: notNegative.optional(),
  untilSeconds: notNegative.optional(),
  prompt: lengths.default({ kind: 'lognormal', median: 500, sigma: 1, max: 8192 }),
  cachedShare: z.number().min(0).max(1).default(0),
  output: lengths.default({ kind: 'lognormal', median: 150, sigma: 0.8, max: 2048 }),
  capTokens: tokens.nullable().default(null),
  serviceMs: positive.optional(),
  work: z.enum(['interactive', 'background']).optional(),
  maxWaitMs: notNegative.optional(),
  retry: retry.optional(),
  patienceSeconds: positive.optional(),
});

const batching = {
  slots: count.optional(),
  kvTokens: tokens.nullable().optional(),
  blockTokens: z.int().min(1).max(1024).optional(),
  prefillTokensPerSecond: positive.optional(),
  maxBatchedTokens: tokens.optional(),
  stepMs: notNegative.optional(),
  perSequenceMs: notNegative.optional(),
  perKvTokenMs: notNegative.optional(),
};

const presets = Object.keys(ENGINE_PRESETS) as [keyof typeof ENGINE_PRESETS, ...(keyof typeof ENGINE_PRESETS)[]];

const engine = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('batching'), preset: z.enum(presets).default('a100-13b'), nodes: z.int().min(1).max(1000).default(1), ...batching }),
  z.strictObject({ kind: z.literal('constant'), nodes: z.int().min(1).max(1000).default(1), slots: count, serviceMs: positive, firstTokenMs: notNegative.default(0) }),
]);

const processors = z.strictObject({
  count: z.int().min(1).max(100).default(1),
  expected: z.enum(['learned', 'exact']).default('learned'),
  reserved: z.enum(['cap', 'p95', 'exact']).default('cap'),
  reservedFactor: positive.default(1),
  bias: z.union([positive, z.array(positive).min(1).max(100)]).default(1),
  errorSigma: z.number().min(0).max(5).default(0),
  unknownOutputTokens: tokens.default(1024),
});

const changes = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('lost'), atSeconds: notNegative, node: z.int().min(0).default(0) }),
  z.strictObject({ kind: z.literal('slots'), atSeconds: notNegative, node: z.int().min(0).default(0), slots: z.int().min(0).max(100_000) }),
  z.strictObject({ kind: z.literal('told'), atSeconds: notNegative, factor: notNegative }),
]);

const kindsOf = (options: readonly { readonly shape: { readonly kind: { readonly value: string } } }[]): readonly string[] => options.map(({ shape }) => shape.kind.value);

/** The kinds that a field may have, for messages. */
export const SCENARIO_KINDS: ReadonlyMap<string, readonly string[]> = new Map([
  ['arrivals', kindsOf(arrivals.options)],
  ['prompt', kindsOf(lengths.options)],
  ['output', kindsOf(lengths.options)],
  ['engine', kindsOf(engine.options)],
  ['changes', kindsOf(changes.options)],
]);

const share = z.number().gt(0).max(1);

/** A scenario as it is written. */
export const scenarioSchema = z.strictObject({
  pool: z.string().min(1).max(128).optional(),
  model: z.string().max(256).optional(),
  durationSeconds: positive.max(31_536_000).optional(),
  warmupSeconds: notNegative.default(0),
  load: positive.optional(),
  seed: z.int().min(0).max(4_294_967_295).default(1),
  engine: engine.optional(),
  processors: processors.prefault({}),
  tenants: z.array(tenant).min(1).max(10_000),
  trace: z.strictObject({ file: z.string().min(1).max(4096), cacheTokens: notNegative.default(0) }).optional(),
  changes: z.array(changes).max(10_000).default([]),
  pressure: z.strictObject({ kvHigh: share.default(0.85), kvLow: share.default(0.75), kvCritical: share.default(0.95) }).optional(),
});

/** A scenario with its defaults. */
export type Scenario = z.output<typeof scenarioSchema>;

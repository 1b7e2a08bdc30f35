import type { PoolPolicy } from '../domain/policy.js';
import { meanPerSecond } from './arrivals.js';
import type { NodeSpec } from './engine.js';
import { ENGINE_PRESETS } from './engine-presets.js';
import { requestsPerSecond, type MeanRequest } from './engine-throughput.js';
import { meanLength } from './lengths.js';
import type { Scenario } from './scenario.js';
import type { PolicyName, PoolChange, SimPool, SimSpec, TenantSpec } from './spec.js';
import type { Trace } from './trace.js';

/** What a scenario is run on. */
export interface ScenarioParts {
  readonly pool: PoolPolicy;
  /** Tenants above one, nearest first: their entitlement counts where it has none of its own. */
  readonly parentsOf: (tenantId: string) => readonly string[];
  readonly trace: Trace | null;
  readonly policy: PolicyName;
  /** From the command line; null: as the scenario says. */
  readonly seed: number | null;
  /** Multiplies all rates. */
  readonly speedUp: number;
  /** Work offered, as a multiple of the capacity; null: as the scenario says. */
  readonly scale: number | null;
}

/** Makes a run out of a scenario. */
export function compileScenario(scenario: Scenario, parts: ScenarioParts): SimSpec {
  const { trace } = parts;
  const node = nodeOf(scenario);
  const nodes = scenario.engine?.nodes ?? 1;
  const tenants = scenario.tenants.map(tenantOf);
  const pool = poolOf(scenario, parts, node, nodes);
  const traceMs = trace?.rows.at(-1)?.atMs ?? 0;
  const load = parts.scale ?? scenario.load ?? null;
  const rateFactor = parts.speedUp * (load === null ? 1 : load / offeredLoad({ pool, node, nodes, tenants, trace }));
  return {
    ...{ seed: parts.seed ?? scenario.seed, policy: parts.policy, pool, node, nodes, tenants, rateFactor, trace: trace?.rows ?? [] },
    durationMs: scenario.durationSeconds === undefined ? Math.floor(traceMs / rateFactor) + 1 : scenario.durationSeconds * 1000,
    warmupMs: scenario.warmupSeconds * 1000,
    processors: processorsOf(scenario),
    changes: scenario.changes.map(changeOf),
    pressure: scenario.pressure,
  };
}

function nodeOf({ engine }: Scenario): NodeSpec {
  if (engine === undefined) return ENGINE_PRESETS['a100-13b'];
  if (engine.kind === 'constant') return { kind: 'constant', slots: engine.slots, serviceMs: engine.serviceMs, firstTokenMs: engine.firstTokenMs };
  const { preset, ...own } = engine;
  const given = Object.entries(own).filter(([name, value]) => value !== undefined && name !== 'nodes');
  return { ...ENGINE_PRESETS[preset], ...Object.fromEntries(given) };
}

function tenantOf(tenant: Scenario['tenants'][number]): TenantSpec {
  const { fromSeconds, untilSeconds, patienceSeconds, ...rest } = tenant;
  const ms = (seconds: number | undefined): number | undefined => (seconds === undefined ? undefined : seconds * 1000);
  return { ...rest, fromMs: ms(fromSeconds), untilMs: ms(untilSeconds), patienceMs: ms(patienceSeconds) };
}

function changeOf({ atSeconds, ...change }: Scenario['changes'][number]): PoolChange {
  return { ...change, atMs: atSeconds * 1000 };
}

function processorsOf({ processors: { count, bias, ...rest } }: Scenario): SimSpec['processors'] {
  return Array.from({ length: count }, (_, i) => ({ ...rest, bias: typeof bias === 'number' ? bias : bias[i % bias.length]! }));
}

/** The configured pool; slots and KV cache that it leaves open are those of the engine, as live nodes would report them. */
function poolOf({ model }: Scenario, { pool, parentsOf }: ScenarioParts, node: NodeSpec, nodes: number): SimPool {
  const kvBytesPerToken = pool.kvBytesPerToken(model ?? '');
  const { capacity } = pool.settings;
  const kvTokens = node.kind === 'batching' ? node.kvTokens : null;
  const kvBytes = capacity.kvBytes ?? (kvTokens === null || kvBytesPerToken === 0 ? null : kvTokens * nodes * kvBytesPerToken);
  const known = new Map<string, ReturnType<SimPool['entitlementOf']>>();
  const entitlementOf: SimPool['entitlementOf'] = (tenantId) => {
    const found = known.get(tenantId) ?? [tenantId, ...parentsOf(tenantId)].map((id) => pool.entitlements.get(id)).find((one) => one !== undefined) ?? pool.implicit(tenantId);
    known.set(tenantId, found);
    return found;
  };
  return {
    settings: { ...pool.settings, capacity: { ...capacity, kvBytes, slots: capacity.slots ?? node.slots * nodes } },
    prefillWeight: pool.prefillWeight,
    kvBytesPerToken,
    holdMs: pool.holdMs,
    entitlementOf,
  };
}

interface Offered {
  readonly pool: SimPool;
  readonly node: NodeSpec;
  readonly nodes: number;
  readonly tenants: readonly TenantSpec[];
  readonly trace: Trace | null;
}

/**
 * Work offered over the capacity, before any factor. Capacity is the pool's `tokensPerSecond` or, where that is open, what the engine can
 * do with requests of the mean length. Closed loops are left out: what they offer depends on how they are served.
 */
function offeredLoad({ pool, node, nodes, tenants, trace }: Offered): number {
  const flows = tenants.flatMap((tenant) => {
    const perSecond = meanPerSecond(tenant.arrivals);
    return perSecond === null ? [] : [{ perSecond, mean: meanOf(tenant) }];
  });
  if (trace !== null && tenants.some(({ arrivals }) => arrivals.kind === 'trace')) flows.push(traceFlow(trace));
  const rate = flows.reduce((sum, { perSecond }) => sum + perSecond, 0);
  if (rate === 0) return 1;
  const mean = (of: keyof MeanRequest): number => flows.reduce((sum, flow) => sum + flow.perSecond * flow.mean[of], 0) / rate;
  const request = { promptTokens: mean('promptTokens'), uncachedTokens: mean('uncachedTokens'), outputTokens: mean('outputTokens') };
  const work = request.outputTokens + pool.prefillWeight * request.uncachedTokens;
  const capacity = pool.settings.capacity.tokensPerSecond ?? requestsPerSecond(node, request) * nodes * work;
  return (rate * work) / capacity;
}

function meanOf(tenant: TenantSpec): MeanRequest {
  const promptTokens = meanLength(tenant.prompt);
  return { promptTokens, uncachedTokens: promptTokens * (1 - (tenant.cachedShare ?? 0)), outputTokens: meanLength(tenant.output) };
}

function traceFlow({ rows }: Trace): { perSecond: number; mean: MeanRequest } {
  const seconds = Math.max(1, rows.at(-1)!.atMs / 1000);
  const sum = (of: (row: Trace['rows'][number]) => number): number => rows.reduce((total, row) => total + of(row), 0) / rows.length;
  return {
    perSecond: rows.length / seconds,
    mean: { promptTokens: sum((row) => row.promptTokens), uncachedTokens: sum((row) => row.promptTokens - row.cachedTokens), outputTokens: sum((row) => row.outputTokens) },
  };
}

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { PoolPolicy } from '../../../src/domain/policy.js';
import { compileScenario, type ScenarioParts } from '../../../src/sim/compile-scenario.js';
import { ENGINE_PRESETS } from '../../../src/sim/engine-presets.js';
import { checkScenario, type Scenario } from '../../../src/sim/scenario.js';
import { scenarioOfTrace } from '../../../src/sim/scenario-of-trace.js';
import { scenarioSchema } from '../../../src/sim/scenario-schema.js';
import { POLICIES } from '../../../src/sim/spec.js';
import type { Trace } from '../../../src/sim/trace.js';
import { poolOf } from '../../sim/pool-of.js';

const POISSON = { kind: 'poisson', perSecond: 2 };

function right(raw: object): Scenario {
  const { scenario, findings } = checkScenario(raw);
  expect(findings).toEqual([]);
  return scenario!;
}

function problems(raw: unknown): string[] {
  return checkScenario(raw).findings.map(({ path, message, at }) => `${path.join('.')}${at === 'key' ? ' (key)' : ''}: ${message}`);
}

function parts(given: Partial<ScenarioParts> = {}): ScenarioParts {
  const { settings, prefillWeight, kvBytesPerToken, holdMs, entitlementOf } = poolOf({
    capacity: {},
    prefillWeight: 0.25,
    kvBytesPerToken: 2,
    entitlements: [{ id: 'acme', serviceClass: 'guaranteed', baseline: { slots: 6 } }, { id: 'b', serviceClass: 'elastic', baseline: { slots: 2 } }, { id: 'c', serviceClass: 'spot' }],
  });
  const entitlements = new Map(['acme', 'b', 'c'].map((id) => [id, entitlementOf(id)]));
  const pool: PoolPolicy = { settings, kind: 'self-hosted', matches: () => true, prefillWeight, kvBytesPerToken: () => kvBytesPerToken, holdMs, entitlements, implicit: (id) => ({ ...entitlementOf('c'), id }) };
  return { pool, parentsOf: (id) => (id === 'acme-team' ? ['acme'] : []), trace: null, policy: 'tokenweir', seed: null, speedUp: 1, scale: null, ...given };
}

const TRACE: Trace = {
  ...{ format: 'azure', passedOver: 0 },
  rows: Array.from({ length: 101 }, (_, i) => ({ atMs: i * 100, promptTokens: 400, cachedTokens: 0, outputTokens: 100, session: null, tenant: null })),
};

describe('a scenario', () => {
  it('needs no more than a time and a tenant', () => {
    const spec = compileScenario(right({ durationSeconds: 10, tenants: [{ id: 'a', arrivals: POISSON }] }), parts());
    expect(spec).toMatchObject({ seed: 1, durationMs: 10_000, rateFactor: 1, nodes: 1, policy: 'tokenweir' });
    // What the configuration leaves open is what the engine has.
    expect(spec.pool.settings.capacity).toEqual({ slots: 64, kvBytes: 66_144 * 2, tokensPerSecond: null, requestsPerSecond: null });
  });

  it('says what is wrong, and where', () => {
    expect(problems({ durationSeconds: 0, tenants: [] })).toEqual(['durationSeconds: must be above 0', 'tenants: must have at least 1']);
    expect(problems({ durationSeconds: 1, tenants: [{ id: 'a', arrivals: { kind: 'poison', perSecond: 1 } }] })).toEqual(['tenants.0.arrivals.kind: must be one of poisson, regular, bursts, closed, trace']);
    expect(problems({ durationSeconds: 1, tenants: [{ id: 'a', arrivals: { kind: 'poisson', perSecond: '1' } }] })).toEqual(['tenants.0.arrivals.perSecond: must be a number']);
    expect(problems({ durationSeconds: 1, tenant: 1, tenants: [{ id: 'a', arrivals: POISSON, prompts: 1 }] })).toEqual(['tenants.0.prompts (key): unknown key', 'tenant (key): unknown key']);
    expect(problems({ durationSeconds: 1, tenants: [{ arrivals: POISSON, work: 'hard' }] })).toEqual(['tenants.0.id: is required', 'tenants.0.work: must be one of interactive, background']);
    expect(problems(null)).toEqual([': must be a mapping']);
    const tenants = [{ id: 'a', arrivals: POISSON }];
    expect(problems({ durationSeconds: 1, tenants, changes: [{ kind: 'loss', atSeconds: 1 }] })).toEqual(['changes.0.kind: must be one of lost, slots, told']);
    expect(problems({ durationSeconds: 1, tenants, processors: { bias: 'x' } })).toEqual(['processors.bias: must be a number above 0, or a list of such numbers']);
  });

  it('must fit together', () => {
    const tenants = [{ id: 'a', arrivals: POISSON }];
    expect(problems({ tenants })).toEqual([': durationSeconds is required without a trace']);
    expect(problems({ durationSeconds: 60, warmupSeconds: 60, tenants })).toEqual(['warmupSeconds: must be less than durationSeconds (60): nothing would be counted']);
    expect(problems({ durationSeconds: 1, tenants: [...tenants, ...tenants] })[0]).toMatch(/^tenants\.1\.id: this tenant stands here twice/);
    expect(problems({ durationSeconds: 1, tenants: [{ id: 'a', arrivals: { kind: 'trace' } }] })[0]).toMatch(/^tenants\.0\.arrivals: needs a trace/);
    expect(problems({ durationSeconds: 1, tenants, engine: { kind: 'batching', nodes: 2 }, changes: [{ kind: 'lost', atSeconds: 1, node: 2 }] })).toEqual(['changes.0.node: there are 2 nodes, counted from 0']);
  });

  it('has no bounds that are upside down, and no engine without time', () => {
    const of = (more: object): string[] => problems({ durationSeconds: 1, tenants: [{ id: 'a', arrivals: POISSON, ...more }] });
    expect(of({ fromSeconds: 5, untilSeconds: 4 })).toEqual(['tenants.0.fromSeconds: must be at most untilSeconds (4)']);
    expect(of({ prompt: { kind: 'uniform', min: 3, max: 2 } })).toEqual(['tenants.0.prompt.min: must be at most max (2)']);
    expect(of({ output: { kind: 'uniform', min: 3, max: 2 } })).toEqual(['tenants.0.output.min: must be at most max (2)']);
    expect(of({ arrivals: { kind: 'bursts', onPerSecond: 1, onSeconds: 1e-300, offSeconds: 1 } })).toEqual(['tenants.0.arrivals.onSeconds: must be at least 0.001']);
    const tenants = [{ id: 'a', arrivals: POISSON }];
    expect(problems({ durationSeconds: 1, tenants, pressure: { kvLow: 0.9 } })).toEqual(['pressure.kvLow: must be at most kvHigh (0.85)']);
    expect(problems({ durationSeconds: 1, tenants, pressure: { kvCritical: 0.8 } })).toEqual(['pressure.kvHigh: must be at most kvCritical (0.8)']);
    expect(problems({ durationSeconds: 1, tenants, engine: { kind: 'batching', stepMs: 0, perSequenceMs: 0 } })).toEqual(['engine.stepMs: must be above 0, or perSequenceMs be']);
  });

  it('takes an engine preset, with what differs from it', () => {
    const engine = { kind: 'batching', preset: 'a100-66b-tp4', nodes: 3, slots: 16, kvTokens: null };
    const spec = compileScenario(right({ durationSeconds: 1, engine, tenants: [{ id: 'a', arrivals: POISSON }] }), parts());
    expect(spec.node).toMatchObject({ kind: 'batching', slots: 16, kvTokens: null, stepMs: 32.98 });
    expect(spec.node).not.toHaveProperty('nodes');
    expect(spec.pool.settings.capacity).toMatchObject({ slots: 48, kvBytes: null });
  });

  it('load scales the work offered to a multiple of the capacity', () => {
    const tenants = [{ id: 'a', arrivals: POISSON, prompt: { kind: 'fixed', tokens: 400 }, output: { kind: 'fixed', tokens: 100 } }];
    const scenario = right({ durationSeconds: 1, load: 1.5, engine: { kind: 'constant', slots: 10, serviceMs: 2000 }, tenants });
    // Five requests a second can be served; two come.
    expect(compileScenario(scenario, parts()).rateFactor).toBeCloseTo((1.5 * 5) / 2, 9);
    expect(compileScenario(scenario, parts({ scale: 1, speedUp: 2 })).rateFactor).toBeCloseTo(5, 9);
    const { pool, ...rest } = parts();
    const bounded = { ...pool, settings: { ...pool.settings, capacity: { ...pool.settings.capacity, tokensPerSecond: 800 } } };
    // 800 a second are four requests of 200.
    expect(compileScenario(scenario, { ...rest, pool: bounded }).rateFactor).toBeCloseTo((1.5 * 4) / 2, 9);
  });

  it('tenants have the entitlement of the nearest above them that has one', () => {
    const { pool } = compileScenario(right({ durationSeconds: 1, tenants: [{ id: 'a', arrivals: POISSON }] }), parts());
    expect(['acme', 'acme-team', 'b', 'nobody'].map((id) => pool.entitlementOf(id).id)).toEqual(['acme', 'acme', 'b', 'nobody']);
    expect(pool.entitlementOf('nobody')).toBe(pool.entitlementOf('nobody'));
  });

  it('several processors may each be wrong in their own way', () => {
    const scenario = right({ durationSeconds: 1, processors: { count: 3, bias: [1, 2], reservedFactor: 4 }, tenants: [{ id: 'a', arrivals: POISSON }] });
    expect(compileScenario(scenario, parts()).processors!.map(({ bias, reservedFactor }) => [bias, reservedFactor])).toEqual([[1, 4], [2, 4], [1, 4]]);
  });
});

describe('docs/simulate.md', () => {
  const text = readFileSync(new URL('../../../docs/simulate.md', import.meta.url), 'utf8');

  it('has an example that is right', () => {
    const example = /```yaml\n([\s\S]*?)```/.exec(text)![1]!;
    expect(right(parse(example) as object).tenants.map(({ id }) => id)).toEqual(['shop', 'science', 'support', 'nightly']);
  });

  it('names every field, preset and policy', () => {
    const { shape } = scenarioSchema;
    const names = [...Object.keys(shape), ...Object.keys(shape.tenants.element.shape), ...Object.keys(shape.processors.unwrap().shape), ...Object.keys(ENGINE_PRESETS), ...POLICIES];
    for (const name of names) expect(text).toContain(`\`${name}\``);
  });
});

describe('a trace without a scenario', () => {
  it('is spread over the entitlements by their baselines, and takes as long as it took', () => {
    const given = parts({ trace: TRACE });
    const scenario = scenarioOfTrace('t.csv', TRACE, given.pool);
    expect(scenario.tenants.map(({ id, arrivals }) => [id, arrivals])).toEqual([
      ['acme', { kind: 'trace', weight: 6 }],
      ['b', { kind: 'trace', weight: 2 }],
      ['c', { kind: 'trace', weight: 4 }],
    ]);
    expect(compileScenario(scenario, given).durationMs).toBe(10_001);
    expect(compileScenario(scenario, { ...given, speedUp: 2 }).durationMs).toBe(5001);
  });

  it('of our own ledger has the tenants that it names', () => {
    const named = { ...TRACE, rows: TRACE.rows.map((row, i) => ({ ...row, tenant: i % 2 === 0 ? 'x' : 'y' })) };
    expect(scenarioOfTrace('t', named, parts().pool).tenants.map(({ id }) => id)).toEqual(['x', 'y']);
  });

  it('names in words which tenants of a trace are too many, or have no name', () => {
    const of = (ids: readonly string[]) => () => scenarioOfTrace('t', { ...TRACE, rows: ids.map((tenant) => ({ ...TRACE.rows[0]!, tenant })) }, parts().pool);
    expect(of(Array.from({ length: 10_001 }, (_, i) => `t${i}`))).toThrow("the tenants that the trace names can't all be simulated: 10001 are more than 10000; a scenario can say which count");
    expect(of([''])).toThrow('one has no name, or one that is too long');
    expect(of(['t'.repeat(129)])).toThrow('one has no name, or one that is too long');
  });
});

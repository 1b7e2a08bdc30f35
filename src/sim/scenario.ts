import type { z } from 'zod';
import { SCENARIO_KINDS, scenarioSchema, type Scenario } from './scenario-schema.js';

export type { Scenario } from './scenario-schema.js';

/** Something in a scenario that has to be put right; where it stands is for the reader of the file to tell. */
export interface ScenarioFinding {
  readonly path: readonly (string | number)[];
  readonly message: string;
  readonly at: 'key' | 'value';
}

type Issue = z.core.$ZodIssue;

const NAMES: Readonly<Record<string, string>> = { object: 'a mapping', array: 'a list', string: 'text', int: 'a whole number', number: 'a number', boolean: 'true or false' };

/** Checks a scenario as it was read from its file. */
export function checkScenario(raw: unknown): { readonly scenario: Scenario | null; readonly findings: readonly ScenarioFinding[] } {
  const result = scenarioSchema.safeParse(raw, { error: messageOf });
  if (!result.success) return { scenario: null, findings: result.error.issues.flatMap(findingsOf) };
  const findings = [...repeatedTenants(result.data), ...missingTrace(result.data), ...changedNodes(result.data), ...longWarmup(result.data), ...inverted(result.data), ...timeless(result.data)];
  return { scenario: findings.length === 0 ? result.data : null, findings };
}

function messageOf(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is required' : `must be ${NAMES[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return issue.origin === 'array' ? `must have at least ${issue.minimum}` : `must be ${issue.inclusive ? 'at least' : 'above'} ${issue.minimum}`;
    case 'too_big':
      return issue.origin === 'array' ? `must have at most ${issue.maximum}` : `must be at most ${issue.maximum}`;
    default:
      return 'is not valid';
  }
}

function findingsOf(issue: Issue): ScenarioFinding[] {
  const path = issue.path.map((part) => (typeof part === 'number' ? part : String(part)));
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => ({ path: [...path, key], message: 'unknown key', at: 'key' }));
  return [{ path, message: issue.code === 'invalid_union' ? messageOfUnion(path) : issue.message, at: 'value' }];
}

/** Kinds belong to the field that has them; in a list, to the list. Else it is `processors.bias`. */
function messageOfUnion(path: ScenarioFinding['path']): string {
  const field = path.slice(0, -1).findLast((part) => typeof part === 'string');
  const kinds = path.at(-1) === 'kind' ? SCENARIO_KINDS.get(String(field)) : undefined;
  return kinds === undefined ? 'must be a number above 0, or a list of such numbers' : `must be one of ${kinds.join(', ')}`;
}

function repeatedTenants({ tenants }: Scenario): ScenarioFinding[] {
  const seen = new Set<string>();
  return tenants.flatMap(({ id }, i) => {
    const again = seen.has(id);
    seen.add(id);
    return again ? [{ path: ['tenants', i, 'id'], message: 'this tenant stands here twice (use entitlement for a second source of requests)', at: 'value' as const }] : [];
  });
}

function missingTrace({ tenants, trace, durationSeconds }: Scenario): ScenarioFinding[] {
  const at = tenants.findIndex(({ arrivals }) => arrivals.kind === 'trace');
  if (at >= 0 && trace === undefined) return [{ path: ['tenants', at, 'arrivals'], message: 'needs a trace (trace.file, or --trace)', at: 'value' }];
  if (durationSeconds === undefined && trace === undefined) return [{ path: [], message: 'durationSeconds is required without a trace', at: 'value' }];
  return [];
}

function longWarmup({ warmupSeconds, durationSeconds }: Scenario): ScenarioFinding[] {
  if (durationSeconds === undefined || warmupSeconds < durationSeconds) return [];
  return [{ path: ['warmupSeconds'], message: `must be less than durationSeconds (${durationSeconds}): nothing would be counted`, at: 'value' }];
}

function changedNodes({ changes, engine }: Scenario): ScenarioFinding[] {
  const nodes = engine?.nodes ?? 1;
  return changes.flatMap((change, i) =>
    change.kind !== 'told' && change.node >= nodes ? [{ path: ['changes', i, 'node'], message: `there are ${nodes} nodes, counted from 0`, at: 'value' as const }] : [],
  );
}

/** Bounds of which the lower one is above the upper one. */
function inverted({ tenants, pressure }: Scenario): ScenarioFinding[] {
  const below = (path: ScenarioFinding['path'], low: number, high: number, name: string): ScenarioFinding[] =>
    low <= high ? [] : [{ path, message: `must be at most ${name} (${high})`, at: 'value' }];
  const ofTenants = tenants.flatMap(({ fromSeconds = 0, untilSeconds = Infinity, prompt, output }, i) => [
    ...below(['tenants', i, 'fromSeconds'], fromSeconds, untilSeconds, 'untilSeconds'),
    ...(prompt.kind === 'uniform' ? below(['tenants', i, 'prompt', 'min'], prompt.min, prompt.max, 'max') : []),
    ...(output.kind === 'uniform' ? below(['tenants', i, 'output', 'min'], output.min, output.max, 'max') : []),
  ]);
  if (pressure === undefined) return ofTenants;
  const { kvLow, kvHigh, kvCritical } = pressure;
  return [...ofTenants, ...below(['pressure', 'kvLow'], kvLow, kvHigh, 'kvHigh'), ...below(['pressure', 'kvHigh'], kvHigh, kvCritical, 'kvCritical')];
}

/** An engine whose steps take no time never comes to an end of them. */
function timeless({ engine }: Scenario): ScenarioFinding[] {
  if (engine?.kind !== 'batching' || engine.stepMs !== 0 || engine.perSequenceMs !== 0) return [];
  return [{ path: ['engine', 'stepMs'], message: 'must be above 0, or perSequenceMs be', at: 'value' }];
}

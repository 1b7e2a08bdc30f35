import type { Outline } from './outline.js';
import type { Finding, Path } from './problem.js';
import { didYouMean, nearest } from './suggest.js';

/** Comparing thousands of names with thousands would take minutes. */
const MAX_SUGGESTIONS = 20;

/** Tells the line of a path, for messages that point to a second place. */
export type LineOf = (path: Path) => number;

/** What is wrong between tenants, and with what names them. */
export function checkTenants(outline: Outline, lineOf: LineOf): Finding[] {
  const ids = new Map<string, number>();
  const findings: Finding[] = [];
  outline.tenants.forEach(({ id }, index) => {
    if (id === null) return;
    const first = ids.get(id);
    if (first === undefined) ids.set(id, index);
    else findings.push(value(['tenants', index, 'id'], `this id is taken by tenants[${first}] (line ${lineOf(['tenants', first, 'id'])})`));
  });
  return [...findings, ...repeatedKeys(outline, lineOf), ...unknownTenants(outline, ids), ...parentCycles(outline, ids)];
}

function value(path: Path, message: string): Finding {
  return { path, message, at: 'value' };
}

function repeatedKeys(outline: Outline, lineOf: LineOf): Finding[] {
  const seen = new Map<string, Path>();
  const findings: Finding[] = [];
  outline.tenants.forEach(({ keys }, tenant) => {
    keys.forEach((key, index) => {
      if (key === null || !key.startsWith('sha256:')) return;
      const path: Path = ['tenants', tenant, 'keys', index];
      const first = seen.get(key.toLowerCase());
      if (first === undefined) seen.set(key.toLowerCase(), path);
      else findings.push(value(path, `this key stands already at tenants[${first[1]}].keys[${first[3]}] (line ${lineOf(first)})`));
    });
  });
  return findings;
}

function unknownTenants(outline: Outline, ids: ReadonlyMap<string, number>): Finding[] {
  const findings: Finding[] = [];
  const check = (path: Path, id: string | null): void => {
    if (id === null || ids.has(id)) return;
    const near = findings.length < MAX_SUGGESTIONS ? nearest(id, ids.keys()) : null;
    findings.push(value(path, `no tenant has this id${didYouMean(near)}`));
  };
  const { anonymous, unknownKey, jwt } = outline.identity;
  if (anonymous !== 'reject') check(['identity', 'anonymous'], anonymous);
  if (unknownKey !== 'reject') check(['identity', 'unknownKey'], unknownKey);
  for (const [claim, id] of Object.entries(jwt?.tenants ?? {})) check(['identity', 'jwt', 'tenants', claim], id);
  outline.tenants.forEach(({ parent }, index) => {
    check(['tenants', index, 'parent'], parent);
  });
  return findings;
}

/** Each circle is told once, at the first of its tenants. */
function parentCycles(outline: Outline, ids: ReadonlyMap<string, number>): Finding[] {
  const done = new Set<string>();
  const findings: Finding[] = [];
  for (const { id } of outline.tenants) {
    const way: string[] = [];
    let next = id;
    while (next !== null && !done.has(next) && !way.includes(next)) {
      way.push(next);
      next = outline.tenants[ids.get(next) ?? -1]?.parent ?? null;
    }
    if (next !== null && way.includes(next)) findings.push(cycle(way.slice(way.indexOf(next)), ids));
    for (const passed of way) done.add(passed);
  }
  return findings;
}

function cycle(circle: readonly string[], ids: ReadonlyMap<string, number>): Finding {
  const index = ids.get(circle[0]!) ?? 0;
  return value(['tenants', index, 'parent'], `parents go round in a circle: ${[...circle, circle[0]].join(' → ')}`);
}

import type { Outline, PoolOutline } from './outline.js';
import type { Finding, Path } from './problem.js';
import type { LineOf } from './tenant-checks.js';

/** What is wrong with pools, apart from what the schema tells. */
export function checkPools({ pools }: Outline, lineOf: LineOf): Finding[] {
  const ids = new Map<string, number>();
  return pools.flatMap((pool, index) => {
    const at: Path = ['pools', index];
    const first = pool.id === null ? undefined : ids.get(pool.id);
    if (pool.id !== null && first === undefined) ids.set(pool.id, index);
    const taken = first === undefined ? [] : [finding([...at, 'id'], `this id is taken by pools[${first}] (line ${lineOf(['pools', first, 'id'])})`)];
    return [...taken, ...checkKind(pool, at)];
  });
}

function finding(path: Path, message: string, at: Finding['at'] = 'value'): Finding {
  return { path, message, at };
}

/** What belongs to pools of the other kind, and what one field needs of another. */
function checkKind(pool: PoolOutline, at: Path): Finding[] {
  const findings: Finding[] = [];
  const misplaced = (field: keyof PoolOutline, isThere: boolean, kind: string, instead: string): void => {
    if (isThere) findings.push(finding([...at, field], `belongs to pools of kind ${kind}${instead}`, 'key'));
  };
  if (pool.kind === 'provider') {
    misplaced('capacity', pool.capacity !== null, 'self-hosted: tell what the provider allows with limits', '');
    misplaced('kvBytesPerToken', pool.kvBytesPerToken, 'self-hosted', '');
  }
  if (pool.kind === 'self-hosted') {
    misplaced('limits', pool.limits !== null, 'provider: tell what your servers have with capacity', '');
    misplaced('provider', pool.provider, 'provider', '');
    const counts = pool.capacity === null || !pool.capacity.told.includes('kvBytes') || pool.kvBytesPerToken;
    if (!counts) findings.push(finding([...at, 'capacity', 'kvBytes'], 'needs kvBytesPerToken too: without it no request takes any'));
  }
  return findings;
}

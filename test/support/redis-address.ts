import { formatProblems, parseConfig } from '../../src/config/load.js';
import { NOTHING_OUTSIDE, type FileContent, type Outside } from '../../src/config/outside.js';
import type { RedisAddress } from '../../src/domain/store-settings.js';
import { readFileSync } from 'node:fs';

/** Where the store is, read from a configuration as a user writes it. Files that it names must exist. */
export function redisAddress(yaml: string, files: readonly string[] = []): RedisAddress {
  const contents = files.map((file): [string, FileContent] => [file, { ok: true, text: readFileSync(file, 'utf8') }]);
  const outside: Outside = { ...NOTHING_OUTSIDE, files: new Map(contents) };
  const result = parseConfig(yaml, '/c.yaml', outside);
  if (!result.ok) throw new Error(formatProblems(result.problems));
  const { address } = result.config.store;
  if (address.kind !== 'redis') throw new Error('that is no shared store');
  return address;
}

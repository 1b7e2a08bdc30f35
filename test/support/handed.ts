import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'vitest';

const FILE = fileURLToPath(new URL('../../../shared/cases/cases.jsonl', import.meta.url));

export interface HandedCase {
  readonly id: string;
  readonly kind: string;
  readonly title: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly expected: Readonly<Record<string, unknown>>;
}

const cases: ReadonlyMap<string, HandedCase> = new Map(
  (existsSync(FILE) ? readFileSync(FILE, 'utf8').trim().split('\n') : []).map((line) => JSON.parse(line) as HandedCase).map((one) => [one.id, one]),
);

/** Ids of the cases of these kinds; null where the folder is missing. */
export function handedIds(...kinds: readonly string[]): string[] | null {
  return cases.size === 0 ? null : [...cases.values()].filter(({ kind }) => kinds.includes(kind)).map(({ id }) => id);
}

/** A test of one handed case; skipped, saying so, where the folder of cases is missing. */
export function handedCase(id: string, body: (one: HandedCase) => Promise<void> | void): void {
  const one = cases.get(id);
  if (one === undefined) test.skip(`${id} (skipped: ../shared/cases is missing)`, () => undefined);
  else test(`${id}: ${one.title}`, () => body(one));
}

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { handedIds } from '../../support/handed.js';

const TESTS = fileURLToPath(new URL('../../', import.meta.url));

/** The text of every file of tests. */
function testTexts(): string[] {
  const names = readdirSync(TESTS, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.test.ts')).map((name) => readFileSync(join(TESTS, name), 'utf8'));
}

const ids = handedIds('streaming-usage', 'request-parsing');

describe.skipIf(ids === null)(`handed cases of usage in streams and of reading requests${ids === null ? ' (skipped: ../shared/cases is missing)' : ''}`, () => {
  it('are seventeen, and each is named by a test', () => {
    const texts = testTexts();
    expect(ids).toHaveLength(17);
    expect(ids!.filter((id) => !texts.some((text) => text.includes(`'${id}'`) || text.includes(`'${id}:`)))).toEqual([]);
  });
});

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { handedIds } from '../../support/handed.js';

const TESTS = fileURLToPath(new URL('../../', import.meta.url));
/** They need fair queues, and nodes. */
const LATER = ['vllm-project/vllm-ascend#10812', 'llm-d/llm-d-router#1739'];

/** The text of every file of tests. */
function testTexts(): string[] {
  const names = readdirSync(TESTS, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.test.ts') && !name.endsWith('handed-cases.test.ts')).map((name) => readFileSync(join(TESTS, name), 'utf8'));
}

const ids = handedIds('redis-failure', 'concurrency-leak', 'rate-limit-accounting');

describe.skipIf(ids === null)(`handed cases of stores, leaks and accounting${ids === null ? ' (skipped: ../shared/cases is missing)' : ''}`, () => {
  it('are sixteen that need no later work, and each is named by a test', () => {
    const texts = testTexts();
    const now = ids!.filter((id) => !LATER.includes(id));
    expect(now).toHaveLength(16);
    expect(now.filter((id) => !texts.some((text) => [`'${id}'`, `'${id}:`, `(${id})`].some((named) => text.includes(named))))).toEqual([]);
  });
});

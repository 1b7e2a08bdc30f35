import { describe, expect, test } from 'vitest';
import { limitName, limitRefusal, tooLargeRefusal } from '../../../src/quota/shortage.js';
import { level } from './builders.js';

describe('refusal for a shortage', () => {
  test('tells limit, scope, figures and a sentence', () => {
    const shortage = { level: level('tokens', 60_000, 1_200), needed: 4_000, waitMs: 2_800, exact: true };
    expect(limitRefusal(shortage, 'acme', 'r1')).toEqual({
      kind: 'limited',
      requestId: 'r1',
      message: 'tokens per minute limit of tenant acme: 60000 a minute, 1200 left, 4000 needed; retry in 2.8 s',
      limit: 'tokens_per_minute',
      scope: { kind: 'tenant', id: 'acme' },
      limitValue: 60_000,
      used: 58_800,
      needed: 4_000,
      retryAfterMs: 2_800,
      exact: true,
    });
  });

  test("names the parent, debt and an estimated wait; seconds never round down", () => {
    const shortage = { level: level('outputTokens', 100, -40, { tenantId: 'corp' }), needed: 10, waitMs: 30_001, exact: false };
    const refusal = limitRefusal(shortage, 'acme', 'r1');
    expect(refusal.scope).toEqual({ kind: 'parent', id: 'corp' });
    expect(refusal.used).toBe(140);
    expect(refusal.message).toBe(
      'output tokens per minute limit of parent corp: 100 a minute, none left and 40 owed, 10 needed; retry in about 30.1 s',
    );
  });

  test('of places tells places', () => {
    const shortage = { level: level('concurrency', 16, 0), needed: 1, waitMs: 1_000, exact: false };
    expect(limitRefusal(shortage, 'acme', 'r1')).toMatchObject({
      limit: 'concurrency',
      used: 16,
      message: 'concurrency limit of tenant acme: 16 at one time, 0 free, 1 needed; retry in about 1 s',
    });
  });

  test.each([
    ['requests', 'requests_per_minute'],
    ['tokens', 'tokens_per_minute'],
    ['inputTokens', 'input_tokens_per_minute'],
    ['outputTokens', 'output_tokens_per_minute'],
    ['concurrency', 'concurrency'],
  ] as const)('%s is %s on the wire', (dimension, name) => {
    expect(limitName(dimension)).toBe(name);
  });
});

test('refusal of what never fits says what would help', () => {
  const neverFit = { limitId: '*:tokens', dimension: 'tokens', needed: 9_000, capacity: 5_000, limit: 5_000, tenantId: 'corp', ofParent: true } as const;
  expect(tooLargeRefusal(neverFit, 'r1')).toEqual({
    kind: 'too_large',
    requestId: 'r1',
    message:
      'this request needs at least 9000 tokens, and the tokens per minute limit of parent corp never holds more than 5000: send less, or lower the output cap',
    limit: 'request_too_large',
    scope: { kind: 'parent', id: 'corp' },
    limitValue: 5_000,
    used: 0,
    needed: 9_000,
  });
});

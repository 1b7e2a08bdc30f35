import { describe, expect, it } from 'vitest';
import type { LimitName, LimitRefusal, PlainRefusal, Refusal } from '../../../src/domain/refusal.js';
import { openAiRefusal } from '../../../src/wire/openai/refusal.js';
import { openaiChat, openaiCompletions } from '../../../src/wire/openai/openai.js';

function limited(retryAfterMs: number, limit: LimitName = 'tokens_per_minute', exact = true): LimitRefusal {
  return { kind: 'limited', limit, scope: { kind: 'tenant', id: 'acme' }, limitValue: 600, used: 590, needed: 20, retryAfterMs, exact, requestId: 'r1', message: 'Too much.' };
}

function answerTo(refusal: Refusal) {
  const { status, headers, body } = openAiRefusal(refusal);
  return { status, headers: new Map(headers), body: JSON.parse(body) as { error: Record<string, unknown>; tokenweir: Record<string, unknown> } };
}

describe('a refusal in the shape of the OpenAI API', () => {
  it('tells the limit, whose it is, and the wait', () => {
    const { status, headers, body } = answerTo(limited(1200.2));
    expect(status).toBe(429);
    expect(body).toEqual({
      error: { message: 'Too much.', type: 'tokens', param: null, code: 'rate_limit_exceeded' },
      tokenweir: { limit: 'tokens_per_minute', scope: { kind: 'tenant', id: 'acme' }, limitValue: 600, used: 590, needed: 20, retryAfterMs: 1201, retryAfterKind: 'exact', requestId: 'r1' },
    });
    expect([...headers]).toEqual([['content-type', 'application/json'], ['retry-after', '2'], ['retry-after-ms', '1201']]);
  });

  it.each([
    ['requests_per_minute', 'requests'],
    ['concurrency', 'requests'],
    ['tokens_per_minute', 'tokens'],
    ['input_tokens_per_minute', 'tokens'],
    ['output_tokens_per_minute', 'tokens'],
  ] as const)('%s is a limit of %s', (limit, type) => {
    expect(answerTo(limited(5, limit)).body.error['type']).toBe(type);
  });

  it('marks an estimated wait', () => {
    expect(answerTo(limited(5, 'concurrency', false)).body.tokenweir['retryAfterKind']).toBe('estimate');
  });

  it.each([
    [0, '1', '1'],
    [0.2, '1', '1'],
    [999, '1', '999'],
    [1000, '1', '1000'],
    [1001, '2', '1001'],
  ])('rounds a wait of %d ms up to %s s, never to 0', (waitMs, seconds, ms) => {
    const { headers } = answerTo(limited(waitMs));
    expect([headers.get('retry-after'), headers.get('retry-after-ms')]).toEqual([seconds, ms]);
  });

  it('tells SDKs not to retry where they would not obey the wait', () => {
    expect(answerTo(limited(59_999)).headers.has('x-should-retry')).toBe(false);
    expect(answerTo(limited(60_001)).headers.get('x-should-retry')).toBe('false');
    expect(answerTo(limited(60_001)).headers.get('retry-after')).toBe('61');
  });

  it('is a 400 of its own kind for what can never fit', () => {
    const { status, headers, body } = answerTo({ ...limited(0), kind: 'too_large', limit: 'request_too_large' });
    expect(status).toBe(400);
    expect([...headers]).toEqual([['content-type', 'application/json'], ['x-should-retry', 'false']]);
    expect(body.error['code']).toBe('request_too_large');
    expect(body.tokenweir).toMatchObject({ limit: 'request_too_large', limitValue: 600, needed: 20, retryAfterMs: null, requestId: 'r1' });
  });

  it.each([
    ['unauthenticated', 401, 'invalid_api_key'],
    ['model_not_allowed', 403, 'model_not_found'],
    ['bad_request', 400, 'invalid_request'],
    ['unknown_path', 404, 'unknown_url'],
    ['body_too_large', 413, 'body_too_large'],
    ['unsupported_encoding', 415, 'unsupported_encoding'],
  ] as const)('%s is a %d that a retry does not help', (kind, expected, code) => {
    const refusal: PlainRefusal = { kind, field: 'model', requestId: 'r1', message: 'No "quotes" break it.' };
    const { status, headers, body } = answerTo(refusal);
    expect(status).toBe(expected);
    expect([...headers]).toEqual([['content-type', 'application/json'], ['x-should-retry', 'false']]);
    expect(body.error).toMatchObject({ message: 'No "quotes" break it.', code, param: 'model' });
    expect(body.tokenweir).toEqual({ reason: kind, requestId: 'r1' });
  });

  it('asks to come again when the store is away', () => {
    const { status, headers } = answerTo({ kind: 'store_unavailable', field: null, requestId: 'r1', message: 'x' });
    expect(status).toBe(503);
    expect(headers.get('retry-after')).toBe('1');
    expect(headers.has('x-should-retry')).toBe(false);
  });

  it('is the same for both APIs', () => {
    expect(openaiChat.refuse(limited(5))).toEqual(openaiCompletions.refuse(limited(5)));
  });
});

import Anthropic, { APIError, AuthenticationError, BadRequestError, InternalServerError, RateLimitError } from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';
import type { LocalAnswer, PlainRefusal, Refusal } from '../../../../src/domain/refusal.js';
import { anthropicMessages } from '../../../../src/wire/anthropic/messages.js';

const SAID: LocalAnswer = { status: 200, headers: [['content-type', 'application/json']], body: '{"type":"message","content":[]}' };

function limited(retryAfterMs: number): Refusal {
  return { kind: 'limited', limit: 'tokens_per_minute', scope: { kind: 'tenant', id: 'acme' }, limitValue: 600, used: 600, needed: 20, retryAfterMs, exact: true, requestId: 'r1', message: 'Too much.' };
}

const tooLarge: Refusal = { kind: 'too_large', limit: 'request_too_large', scope: { kind: 'tenant', id: 'acme' }, limitValue: 600, used: 0, needed: 900, requestId: 'r1', message: 'Too much.' };
const plain = (kind: PlainRefusal['kind']): Refusal => ({ kind, field: 'model', requestId: 'r1', message: 'No "quotes" break it.' });

describe('a refusal in the shape of Anthropic’s API', () => {
  it('tells the limit, whose it is, and the wait', () => {
    const { status, headers, body } = anthropicMessages.refuse(limited(1200.2));
    expect(status).toBe(429);
    expect(JSON.parse(body)).toEqual({
      type: 'error',
      error: { type: 'rate_limit_error', message: 'Too much.' },
      request_id: 'r1',
      tokenweir: { limit: 'tokens_per_minute', scope: { kind: 'tenant', id: 'acme' }, limitValue: 600, used: 600, needed: 20, retryAfterMs: 1201, retryAfterKind: 'exact', requestId: 'r1' },
    });
    expect(headers).toEqual([['content-type', 'application/json'], ['retry-after', '2'], ['retry-after-ms', '1201']]);
  });

  it.each([
    [tooLarge, 400, 'invalid_request_error'],
    [plain('unauthenticated'), 401, 'authentication_error'],
    [plain('model_not_allowed'), 403, 'permission_error'],
    [plain('bad_request'), 400, 'invalid_request_error'],
    [plain('not_metered'), 403, 'permission_error'],
    [plain('unknown_path'), 404, 'not_found_error'],
    [plain('body_too_large'), 413, 'request_too_large'],
    [plain('unsupported_encoding'), 415, 'invalid_request_error'],
  ] as const)('%o is a %d that a retry does not help', (refusal, status, type) => {
    const answer = anthropicMessages.refuse(refusal);
    expect(answer.status).toBe(status);
    expect(answer.headers).toEqual([['content-type', 'application/json'], ['x-should-retry', 'false']]);
    expect(JSON.parse(answer.body)).toMatchObject({ type: 'error', error: { type, message: refusal.message }, tokenweir: { requestId: 'r1' } });
  });
});

describe('the official Anthropic client', () => {
  /** Lets it make a request that is answered by `answers`, one after the other. */
  async function ask(...answers: LocalAnswer[]): Promise<{ calls: number; error: unknown }> {
    let calls = 0;
    const respond = ({ status, headers, body }: LocalAnswer) => new Response(body, { status, headers: headers.map(([name, value]): [string, string] => [name, value]) });
    const client = new Anthropic({ apiKey: 'x', maxRetries: 2, fetch: () => Promise.resolve(respond(answers[Math.min(calls++, answers.length - 1)]!)) });
    const error: unknown = await client.messages.create({ model: 'm', max_tokens: 5, messages: [] }).then(() => null, (reason: unknown) => reason);
    return { calls, error };
  }

  it('comes again after a limit', async () => {
    expect(await ask(anthropicMessages.refuse(limited(1)), SAID)).toEqual({ calls: 2, error: null });
  });

  it('gives up with a rate limit error that carries ours', async () => {
    const { calls, error } = await ask(anthropicMessages.refuse(limited(1)));
    expect(calls).toBe(3);
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ status: 429, error: { tokenweir: { limit: 'tokens_per_minute' } } });
  });

  it.each([
    [limited(60_000), RateLimitError],
    [tooLarge, BadRequestError],
    [plain('bad_request'), BadRequestError],
    [plain('unauthenticated'), AuthenticationError],
    [plain('body_too_large'), APIError],
  ])('does not come again for %o', async (refusal, kind) => {
    const { calls, error } = await ask(anthropicMessages.refuse(refusal));
    expect(calls).toBe(1);
    expect(error).toBeInstanceOf(kind);
  });

  it('has an error of the server’s side while the store is away', () => {
    const { status, headers, body } = anthropicMessages.refuse(plain('store_unavailable'));
    const error = APIError.generate(status, JSON.parse(body) as object, 'x', new Headers(headers.map(([name, value]): [string, string] => [name, value])));
    expect(error).toBeInstanceOf(InternalServerError);
    expect(new Map(headers).get('retry-after')).toBe('1');
    expect(JSON.parse(body)).toMatchObject({ error: { type: 'overloaded_error' } });
  });
});

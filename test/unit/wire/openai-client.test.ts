import OpenAI, { APIError, AuthenticationError, BadRequestError, RateLimitError } from 'openai';
import { describe, expect, it } from 'vitest';
import type { LocalAnswer, Refusal } from '../../../src/domain/refusal.js';
import { openaiChat } from '../../../src/wire/openai/openai.js';

const SAID: LocalAnswer = { status: 200, headers: [['content-type', 'application/json']], body: '{"choices":[]}' };

function limited(retryAfterMs: number): Refusal {
  return { kind: 'limited', limit: 'tokens_per_minute', scope: { kind: 'tenant', id: 'acme' }, limitValue: 600, used: 600, needed: 20, retryAfterMs, exact: true, requestId: 'r1', message: 'Too much.' };
}

/** Lets the official client make a request that is answered by `answers`, one after the other. */
async function ask(...answers: LocalAnswer[]): Promise<{ calls: number; error: unknown; tookMs: number }> {
  let calls = 0;
  const respond = ({ status, headers, body }: LocalAnswer) => new Response(body, { status, headers: headers.map(([name, value]): [string, string] => [name, value]) });
  const client = new OpenAI({ apiKey: 'x', maxRetries: 2, fetch: () => Promise.resolve(respond(answers[Math.min(calls++, answers.length - 1)]!)) });
  const started = performance.now();
  const error: unknown = await client.chat.completions.create({ model: 'm', messages: [] }).then(() => null, (reason: unknown) => reason);
  return { calls, error, tookMs: performance.now() - started };
}

describe('the official OpenAI client', () => {
  it('comes again after the told time', async () => {
    const { calls, error, tookMs } = await ask(openaiChat.refuse(limited(40)), SAID);
    expect([calls, error]).toEqual([2, null]);
    expect(tookMs).toBeGreaterThanOrEqual(39);
  });

  it('gives up with a rate limit error that carries ours', async () => {
    const { calls, error } = await ask(openaiChat.refuse(limited(1)));
    expect(calls).toBe(3);
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ status: 429, code: 'rate_limit_exceeded', type: 'tokens' });
  });

  it('does not come again at once when the wait is longer than it obeys', async () => {
    const { calls, error } = await ask(openaiChat.refuse(limited(60_000)));
    expect(calls).toBe(1);
    expect(error).toBeInstanceOf(RateLimitError);
  });

  it.each([
    [{ ...limited(0), kind: 'too_large', limit: 'request_too_large' } as Refusal, 400, BadRequestError],
    [{ kind: 'bad_request', field: 'model', requestId: 'r', message: 'x' } as Refusal, 400, BadRequestError],
    [{ kind: 'unauthenticated', field: null, requestId: 'r', message: 'x' } as Refusal, 401, AuthenticationError],
    [{ kind: 'model_not_allowed', field: 'model', requestId: 'r', message: 'x' } as Refusal, 403, APIError],
    [{ kind: 'unknown_path', field: null, requestId: 'r', message: 'x' } as Refusal, 404, APIError],
    [{ kind: 'body_too_large', field: null, requestId: 'r', message: 'x' } as Refusal, 413, APIError],
    [{ kind: 'unsupported_encoding', field: null, requestId: 'r', message: 'x' } as Refusal, 415, APIError],
  ])('does not repeat what a retry does not help: %o', async (refusal, status, type) => {
    const { calls, error } = await ask(openaiChat.refuse(refusal));
    expect(calls).toBe(1);
    expect(error).toBeInstanceOf(type);
    expect(error).toMatchObject({ status });
  });
});

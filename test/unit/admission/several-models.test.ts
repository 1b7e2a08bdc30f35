import { describe, expect, it } from 'vitest';
import { Exchange } from '../../../src/admission/exchange.js';
import type { RequestHead } from '../../../src/admission/head.js';
import type { Policy } from '../../../src/domain/policy.js';
import { harness, limit, policyOf, tenant } from '../../support/harness.js';

const A = tenant('a', [limit('tokens', 10_000), limit('tokens', 9000, { models: ['gpt-4*'] })], { allowsModel: (model) => model !== 'forbidden' });

/** Status of the refusal and the field it names; 200 where the request goes on. */
async function ask(path: string, body: object, policy: Policy = policyOf([A])): Promise<[number, string | null]> {
  const head: RequestHead = { method: 'POST', path, headers: new Map([['authorization', 'Bearer key-a']]), endOfStream: false, stage: 'front', externalId: null, metadata: () => undefined };
  const exchange = new Exchange(harness(policy).admission, head);
  exchange.begin();
  const verdict = await exchange.decide(Buffer.from(JSON.stringify({ messages: [], ...body })));
  if (verdict.kind === 'forward') return [200, null];
  const { error } = JSON.parse(verdict.answer.body) as { error: { param?: string } };
  return [verdict.answer.status, error.param ?? null];
}

describe('a request is of one model (no way past a model’s limits)', () => {
  it.each([
    ['/v1/chat/completions?model=gpt-4.1', 'cheap'],
    ['/v1/chat/completions?a=b&%6dodel=gpt-4.1', 'cheap'],
    ['/v1/embeddings?model=cheap&model=gpt-4.1', 'cheap'],
    ['/openai/deployments/cheap/chat/completions?api-version=1&model=gpt-4.1', 'cheap'],
  ])('%s: LiteLLM takes the model from the query, so it must be the one that is counted', async (path, model) => {
    expect(await ask(path, { model, input: 'x' })).toEqual([400, 'model']);
  });

  it('the same model in the query, or none, is fine', async () => {
    for (const query of ['', '?model=cheap', '?models=gpt-4.1', '#?model=gpt-4.1']) expect(await ask(`/v1/chat/completions${query}`, { model: 'cheap' })).toEqual([200, null]);
  });

  it('several models by commas, all of which LiteLLM asks, are refused', async () => {
    expect(await ask('/v1/chat/completions', { model: 'cheap,gpt-4.1' })).toEqual([400, 'model']);
    expect(await ask('/engines/cheap,cheap/chat/completions', {})).toEqual([400, 'model']);
  });

  it.each([
    { fallbacks: ['cheap2', 'forbidden'] },
    { fallbacks: [{ model: 'forbidden', messages: [] }] },
    { fallbacks: [{ model: 'cheap2', fallbacks: ['forbidden'] }] },
    { context_window_fallbacks: [{ cheap: ['forbidden'] }] },
    { router_settings_override: { content_policy_fallbacks: [{ cheap: [{ model: 'forbidden' }] }] } },
  ])('%j: a model that is to answer in place of the first one must be allowed too', async (more) => {
    for (const path of ['/v1/chat/completions', '/v1/messages']) expect((await ask(path, { model: 'cheap', ...more }))[0]).toBe(403);
  });

  it('one that has limits of its own must not answer for one that has not', async () => {
    expect(await ask('/v1/chat/completions', { model: 'cheap', fallbacks: ['gpt-4.1'] })).toEqual([400, 'fallbacks']);
    expect(await ask('/v1/chat/completions', { model: 'gpt-4.1', fallbacks: ['cheap', 'gpt-4o'] })).toEqual([200, null]);
  });

  it('in shadow such requests pass, and what would have been refused is recorded', async () => {
    expect(await ask('/v1/chat/completions?model=x', { model: 'cheap' }, policyOf([A], { enforcement: 'shadow' }))).toEqual([200, null]);
  });
});

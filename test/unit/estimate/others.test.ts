import { describe, expect, it } from 'vitest';
import type { RequestFacts } from '../../../src/domain/request.js';
import { NO_USAGE } from '../../../src/domain/usage.js';
import { createEstimator } from '../../../src/estimate/estimator.js';
import { routeOf } from '../../../src/wire/routes.js';

function factsOf(body: object, path = '/v1/chat/completions'): RequestFacts {
  const route = routeOf('POST', path);
  const parsed = route.kind === 'metered' ? route.api.parseRequest(Buffer.from(JSON.stringify({ model: 'gpt-4o', ...body }))) : null;
  if (parsed?.ok !== true) throw new Error('not a request');
  return parsed.facts;
}
const says = (content: unknown) => factsOf({ messages: [{ role: 'user', content }] });
const ASKED = says('How many people live in Iceland, and since when?');

/** An estimator that one tenant taught the same thing over and over. */
function taught(facts: RequestFacts, inputTokens: number) {
  const estimator = createEstimator();
  for (let i = 0; i < 200; i++) {
    estimator.learn({ tenantId: 'evil', facts, prompt: estimator.prompt('evil', facts), usage: { ...NO_USAGE, inputTokens, outputTokens: 5 }, responseId: null });
  }
  return estimator;
}

describe('what one tenant teaches of a model leaves the estimates of others right', () => {
  const before = createEstimator().prompt('b', ASKED).tokens;

  it.each([
    ['a picture behind an address', says([{ type: 'image_url', image_url: { url: 'https://x.example/a.png' } }])],
    ['a picture whose header can’t be read', says([{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }])],
    ['a document', says([{ type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA' } }])],
    ['a stored prompt', factsOf({ prompt: { id: 'p' }, input: 'x' }, '/v1/responses')],
  ])('%s that took 50,000 tokens', (_, facts) => {
    expect(taught(facts, 50_000).prompt('b', ASKED).tokens).toBe(before);
  });

  it('a stored prompt is reserved as it was before, for the tenant that knows it', () => {
    const stored = factsOf({ prompt: { id: 'p' }, input: 'x' }, '/v1/responses');
    const estimator = taught(stored, 50_000);
    expect(estimator.prompt('evil', stored).tokens).toBeGreaterThan(49_000);
    expect(estimator.prompt('b', stored).tokens).toBeLessThan(3000);
  });

  it('wrong figures make an estimate unsure, by no more than a factor', () => {
    expect(taught(ASKED, 2 ** 31 - 1).prompt('b', ASKED).errorShare).toBeLessThanOrEqual(3.5);
  });
});

import { describe, expect, it } from 'vitest';
import { openaiRoute } from '../../../../src/wire/openai/routes.js';

/** A body that each of the APIs takes. */
const BODY = { messages: [], prompt: '', input: '' };

describe('the paths of OpenAI’s APIs', () => {
  it.each([
    ['/v1/chat/completions', 'openai-chat'],
    ['/chat/completions', 'openai-chat'],
    ['/openai/v1/chat/completions', 'openai-chat'],
    ['/v1beta/openai/chat/completions', 'openai-chat'],
    ['/models/chat/completions', 'openai-chat'],
    ['/v1/completions', 'openai-completions'],
    ['/api/v1/completions', 'openai-completions'],
    ['/v1/responses', 'openai-responses'],
    ['/responses', 'openai-responses'],
    ['/openai/v1/responses', 'openai-responses'],
    ['/v1/responses/compact', 'openai-responses'],
    ['/v1/embeddings', 'openai-embeddings'],
    ['/embeddings', 'openai-embeddings'],
  ])('%s is %s', (path, api) => {
    const found = openaiRoute(path);
    expect(found?.api).toBe(api);
    expect(found?.parseRequest(Buffer.from(JSON.stringify({ model: 'm', ...BODY })))).toMatchObject({ ok: true, facts: { api, model: 'm' } });
  });

  it.each([
    ['/openai/deployments/gpt-4.1/chat/completions', 'openai-chat', 'gpt-4.1'],
    ['/openai/deployments/gpt-4.1/extensions/chat/completions', 'openai-chat', 'gpt-4.1'],
    ['/openai/deployments/gpt-4.1/completions', 'openai-completions', 'gpt-4.1'],
    ['/openai/deployments/gpt-4.1/responses', 'openai-responses', 'gpt-4.1'],
    ['/openai/deployments/ada/embeddings', 'openai-embeddings', 'ada'],
    ['/engines/org/gpt-4.1/chat/completions', 'openai-chat', 'org/gpt-4.1'],
    ['/v1/engines/davinci/completions', 'openai-completions', 'davinci'],
  ])('%s is %s of the model in the path, whatever the body says: no way past a model’s limits', (path, api, model) => {
    for (const said of [{ model: 'cheap' }, {}, { prompt: { id: 'pmpt_1' }, input: '' }]) {
      const body = api === 'openai-completions' ? { ...said, ...BODY } : { ...BODY, ...said };
      expect(openaiRoute(path)?.parseRequest(Buffer.from(JSON.stringify(body)))).toMatchObject({ ok: true, facts: { api, model } });
    }
  });

  it.each(['/', '/v1/models', '/v1/responses/resp_1', '/v1/responses/input_tokens', '/openai/deployments//completions', '/engines/completions', '/openai/deployments/m/images/generations', '/api/embeddings', '/v1/Embeddings', '/x/v1/completions'])(
    'not %s',
    (path) => {
      expect(openaiRoute(path)).toBeNull();
    },
  );
});

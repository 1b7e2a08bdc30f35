import { describe, expect, it } from 'vitest';
import { routeOf } from '../../../src/wire/routes.js';

describe('the API a request calls', () => {
  it.each([
    '/v1/chat/completions',
    '/chat/completions',
    '/openai/v1/chat/completions',
    '/v1/chat/completions/',
    '//v1///chat/completions//',
    '/v1/chat/completions?api-version=1&x=/y',
    '/v1/chat/completions#part',
    '/v1/%63hat/complet%69ons',
    '/v1%2Fchat%2fcompletions',
    '/v1/./models/../chat/completions',
    '/v1\\chat\\completions',
    `/v1/chat/completions?x=${'y'.repeat(3000)}`,
    `${'/'.repeat(3000)}v1/chat/completions`,
    `/v1/${'./'.repeat(3000)}chat/completions`,
  ])('knows %s as chat completions', (path) => {
    expect(routeOf('POST', path)?.api).toBe('openai-chat');
  });

  it.each(['/v1/completions', '/completions', '/completions/?a=b'])('knows %s as completions', (path) => {
    expect(routeOf('POST', path)?.api).toBe('openai-completions');
  });

  it.each(['/', '', '/v1/models', '/v1/Chat/Completions', '/v1/chat/completions/abc', '/v1/responses', '/xv1/completions', '/%%%', `/${'a/'.repeat(5000)}completions`])(
    'does not know %s',
    (path) => {
      expect(routeOf('POST', path)).toBeNull();
    },
  );

  it('knows POST only', () => {
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'post']) expect(routeOf(method, '/v1/chat/completions')).toBeNull();
  });

  it.each([
    ['/openai/deployments/gpt-4.1/chat/completions?api-version=2024-10-21', 'openai-chat', 'gpt-4.1'],
    ['/engines/org/gpt-4.1/chat/completions', 'openai-chat', 'org/gpt-4.1'],
    ['//openai%2Fdeployments/gpt-4.1/completions/', 'openai-completions', 'gpt-4.1'],
  ])('takes the model from the path %s, whatever the body says: no way past a model’s limits', (path, name, model) => {
    const api = routeOf('POST', path);
    expect(api?.api).toBe(name);
    for (const said of [{ model: 'cheap' }, {}]) {
      expect(api?.parseRequest(Buffer.from(JSON.stringify({ ...said, messages: [], prompt: '' })))).toMatchObject({ ok: true, facts: { model } });
    }
  });

  it.each(['/openai/deployments//completions', '/engines/completions', '/openai/deployments/m/embeddings'])('does not know %s', (path) => {
    expect(routeOf('POST', path)).toBeNull();
  });
});

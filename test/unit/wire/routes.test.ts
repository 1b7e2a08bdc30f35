import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { routeOf } from '../../../src/wire/routes.js';

const apiOf = (method: string, path: string): string | null => {
  const route = routeOf(method, path);
  return route.kind === 'metered' ? route.api.api : null;
};
const kindOf = (path: string, method = 'POST'): string => {
  const route = routeOf(method, path);
  return route.kind === 'unmetered' ? route.what : route.kind;
};

describe('the API a request calls (point 1)', () => {
  it.each(['/prompts/test', '/usage/ai/chat', '/health/test_connection', '/auto_router/test_routing', '/policy/templates/enrich', '/policy/templates/enrich/stream', '/policy/templates/suggest'])(
    'knows that LiteLLM runs a model for %s',
    (path) => {
      expect(kindOf(path)).toBe('other');
    },
  );

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
    '/api/v1/chat/completions',
    '/api/chat/completions',
    '/v1/v1/chat/completions',
    '/v1beta/openai/chat/completions',
    '/inference/v1/chat/completions',
    '/openai_passthrough/v1/chat/completions',
    '/openrouter/api/v1/chat/completions',
    '/vllm/v1/chat/completions',
    '/mistral/v1/chat/completions',
    '/azure_ai/openai/v1/chat/completions',
    '/any/mount/point/v1/chat/completions',
  ])('knows %s as chat completions', (path) => {
    expect(apiOf('POST', path)).toBe('openai-chat');
  });

  it.each(['/v1/completions', '/completions', '/completions/?a=b', '/vllm/v1/completions'])('knows %s as completions', (path) => {
    expect(apiOf('POST', path)).toBe('openai-completions');
  });

  it.each(['/', '', '/v1/models', '/v1/Models', '/v1/chat/completions/abc', '/xv1/completions', '/%%%', `/${'a/'.repeat(5000)}completions`, '/v1/responses/r1/cancel'])(
    'knows nothing of %s',
    (path) => {
      expect(kindOf(path)).toBe('unknown');
    },
  );

  it.each([
    '/V1/Chat/Completions', '/v1/chat/completions;a=b', '/v1;x/chat/completions', '/v1/chat/completions.', '/v1/chat/completions%20', '/v1/chat/completions%09..', '/v1/%2563hat/completions',
    '/v1%252fchat%252Fcompletions', '/v1/%25%32%35%36%33hat/completions', '/v1beta/models/m:generateContent;x', '/model/m/converse;jsessionid=1', '/V1/Messages;x=%2e',
  ])('takes %s, which some server may take for the path of an API, for one that is known and not metered', (path) => {
    expect(kindOf(path)).toBe('other');
  });

  it.each(['/v1/messages', '/v1/responses', '/v1/embeddings', '/model/m/converse', '/v1beta/models/m:generateContent'])('knows %s by other methods as well, as not metered', (path) => {
    for (const method of ['PUT', 'PATCH', 'QUERY', 'post']) expect(kindOf(path, method)).toBe('other');
  });

  it.each(['.', ' ', ';', '%25', '/.', '/;', '. ', 'A.', '%'])('judges spellings of the longest paths, of %j over and over, in no time that matters', (piece) => {
    expect(kindOf(`/x${piece.repeat(60_000 / piece.length)}y`)).toBe('unknown');
  });

  it('knows POST only', () => {
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'post']) expect(apiOf(method, '/v1/chat/completions')).toBeNull();
  });

  it.each([
    ['/openai/deployments/gpt-4.1/chat/completions?api-version=2024-10-21', 'openai-chat', 'gpt-4.1'],
    ['/azure/openai/deployments/gpt-4.1/chat/completions?api-version=2024-10-21', 'openai-chat', 'gpt-4.1'],
    ['/engines/org/gpt-4.1/chat/completions', 'openai-chat', 'org/gpt-4.1'],
    ['//openai%2Fdeployments/gpt-4.1/completions/', 'openai-completions', 'gpt-4.1'],
  ])('takes the model from the path %s, whatever the body says: no way past a model’s limits', (path, name, model) => {
    const route = routeOf('POST', path);
    if (route.kind !== 'metered') throw new Error(`${path} is ${route.kind}`);
    expect(route.api.api).toBe(name);
    for (const said of [{ model: 'cheap' }, {}]) {
      expect(route.api.parseRequest(Buffer.from(JSON.stringify({ ...said, messages: [], prompt: '' })))).toMatchObject({ ok: true, facts: { model } });
    }
  });

  it.each([
    ['/v1/messages', 'anthropic-messages', 'anthropic'],
    ['/anthropic/v1/messages', 'anthropic-messages', 'anthropic'],
    ['/claude_code_gateway/v1/messages?beta=true', 'anthropic-messages', 'anthropic'],
    ['/v1/responses', 'openai-responses', 'openai'],
    ['/openai/v1/responses', 'openai-responses', 'openai'],
    ['/v1/embeddings', 'openai-embeddings', 'openai'],
    ['/azure/openai/deployments/e/embeddings?api-version=1', 'openai-embeddings', 'openai'],
    ['/model/anthropic.claude-sonnet-4-v1%3A0/converse', 'bedrock-converse', 'bedrock'],
    ['/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.x/converse-stream', 'bedrock-converse', 'bedrock'],
    ['/model/arn:aws:bedrock:us-east-1:1:inference-profile/us.x/invoke', 'bedrock-invoke', 'bedrock'],
    ['/bedrock/model/m/invoke-with-response-stream', 'bedrock-invoke', 'bedrock'],
    ['/v1beta/models/gemini-2.5-flash:generateContent?key=k', 'gemini-generate-content', 'gemini'],
    ['/gemini/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse', 'gemini-generate-content', 'gemini'],
    ['/vertex_ai/v1/projects/p/locations/l/publishers/google/models/gemini-2.5-flash:generateContent', 'gemini-generate-content', 'gemini'],
    ['/vertex-ai/v1/projects/p/locations/l/publishers/google/models/text-embedding-005:predict', 'gemini-embed-content', 'gemini'],
    ['/models/gemini-2.5-flash:generateContent', 'gemini-generate-content', 'gemini'],
    ['/api/chat', 'ollama-chat', 'ollama'],
    ['/ollama/api/generate', 'ollama-generate', 'ollama'],
    ['/api/embed', 'ollama-embed', 'ollama'],
    ['/api/embeddings', 'ollama-embed', 'ollama'],
    ['/completion', 'llamacpp-completion', 'openai'],
    ['/v1/rerank', 'rerank', 'openai'],
    ['/cohere/v2/rerank', 'rerank', 'openai'],
  ])('%s is %s', (path, api, family) => {
    expect(apiOf('POST', path)).toBe(api);
    expect(routeOf('POST', path).family).toBe(family);
  });
});

describe('what is known and not metered (no unmetered holes)', () => {
  it.each([
    ['/v1/messages/count_tokens', 'count_tokens'],
    ['/anthropic/v1/messages/count_tokens?beta=true', 'count_tokens'],
    ['/model/anthropic.claude-sonnet-4%3A0/count-tokens', 'count_tokens'],
    ['/bedrock/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ax%2Fy/count-tokens', 'count_tokens'],
    ['/v1beta/models/gemini-2.5-flash:countTokens?key=x', 'count_tokens'],
    ['/v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict', 'count_tokens'],
    ['/tokenize', 'count_tokens'],
    ['/detokenize', 'count_tokens'],
    ['/apply-template', 'count_tokens'],
    ['/v1/responses/input_tokens', 'count_tokens'],
    ['/utils/token_counter', 'count_tokens'],
    ['/v1/realtime?model=gpt-realtime', 'realtime'],
    ['/openai/v1/realtime/client_secrets', 'realtime'],
    ['/openai/realtime?api-version=1&deployment=d', 'realtime'],
    ['/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent?key=x', 'realtime'],
    ['/vertex_ai/live', 'pass_through'],
    ['/model/amazon.nova-sonic-v1:0/invoke-with-bidirectional-stream', 'realtime'],
    ['/v1/batches', 'batches'],
    ['/batches/b1/cancel', 'batches'],
    ['/azure/v1/batches', 'batches'],
    ['/openai/batches?api-version=1', 'batches'],
    ['/v1/messages/batches', 'batches'],
    ['/v1beta/models/gemini-2.5-flash:batchGenerateContent', 'batches'],
    ['/v1/projects/p/locations/l/batchPredictionJobs', 'batches'],
    ['/model-invocation-job', 'batches'],
    ['/async-invoke', 'batches'],
    ['/v1/files', 'files'],
    ['/upload/v1beta/files', 'files'],
    ['/v1/uploads/u1/parts', 'files'],
    ['/v1/vector_stores/v/search', 'files'],
    ['/v1beta/cachedContents', 'files'],
    ['/v1/images/generations', 'media'],
    ['/openai/deployments/dall-e/images/generations', 'media'],
    ['/v1/audio/transcriptions', 'media'],
    ['/v1/videos', 'media'],
    ['/v1/projects/p/locations/l/publishers/google/models/imagen-4:predict', 'media'],
    ['/v1/threads/t/runs', 'assistants'],
    ['/v1/assistants', 'assistants'],
    ['/v1beta/interactions', 'assistants'],
    ['/a2a/agent/message/send', 'assistants'],
    ['/v1/fine_tuning/jobs', 'fine_tuning'],
    ['/v1/moderations', 'moderations'],
    ['/guardrail/g/version/1/apply', 'moderations'],
    ['/langfuse/api/public/ingestion', 'pass_through'],
    ['/cohere/v3/whatever', 'pass_through'],
    ['/openai/v1/some/new/thing', 'pass_through'],
    ['/gemini', 'pass_through'],
    ['/cursor/chat/completions', 'other'],
    ['/cursor/v0/agents', 'pass_through'],
    ['/cohere/v2/chat', 'other'],
    ['/v1/complete', 'other'],
    ['/v1/projects/p/locations/l/publishers/google/models/text-embedding-005:rawPredict', 'other'],
    ['/v1/generate', 'other'],
    ['/v1/score/x', 'other'],
    ['/team/chat/completions', 'other'],
    ['/v1/Chat/Completions', 'other'],
    ['/OpenAI/Deployments/d/chat/completions', 'other'],
  ])('%s is %s', (path, kind) => {
    expect(kindOf(path)).toBe(kind);
  });

  it('other methods than POST are no way around it', () => {
    expect(kindOf('/v1/batches', 'PUT')).toBe('batches');
    expect(kindOf('/anthropic/v1/messages', 'PATCH')).toBe('pass_through');
  });

  it('names that every object has are no prefixes', () => {
    for (const path of ['/constructor/x', '/__proto__/v2/x', '/toString']) expect(kindOf(path)).toBe('unknown');
  });
});

const escaped = (char: string, upper: boolean): string => {
  const hex = char.charCodeAt(0).toString(16).padStart(2, '0');
  return `%${upper ? hex.toUpperCase() : hex}`;
};
const letters = (segment: string): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom('plain', 'plain', 'lower', 'upper'), { minLength: segment.length, maxLength: segment.length }).map((ways) =>
    ways.map((way, i) => (way === 'plain' ? segment[i]! : escaped(segment[i]!, way === 'upper'))).join(''),
  );
/** Ways to spell a path that a server may take for the same one. */
const spelled = (path: string): fc.Arbitrary<string> =>
  fc.tuple(
    ...path.split('/').slice(1).map((segment) => fc.tuple(fc.constantFrom('/', '/', '//', '/./', '/x/../', '\\', '/%2e/', '/a/b/%2E%2e/../', '%2f'), letters(segment))),
  ).chain((parts) => fc.constantFrom('', '/', '//', '?', '?a=b', '#x', '/?a=/../', '/./').map((end) => `/${parts.flat().join('')}${end}`));

describe('every spelling of a metered path stays metered', () => {
  const prefixes = ['', '/api', '/openai', '/anthropic', '/vllm', '/azure', '/bedrock', '/mistral', '/some/mount'];
  it.each([['/v1/chat/completions', 'openai-chat'], ['/v1/messages', 'anthropic-messages'], ['/v1/completions', 'openai-completions'], ['/v1/responses', 'openai-responses'], ['/model/m:0/converse', 'bedrock-converse'], ['/v1beta/models/m:generateContent', 'gemini-generate-content'], ['/api/chat', 'ollama-chat']])('%s', (path, api) => {
    fc.assert(
      fc.property(fc.constantFrom(...prefixes).filter((prefix) => api !== 'ollama-chat' || prefix !== '/some/mount').chain((prefix) => spelled(`${prefix}${path}`)), (spelling) => {
        expect(apiOf('POST', spelling)).toBe(api);
      }),
      { numRuns: 500 },
    );
  });
});

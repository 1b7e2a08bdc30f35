import { describe, expect, it } from 'vitest';
import { geminiRoute } from '../../../../src/wire/gemini/routes.js';
import { factsOf } from '../local/read.js';

const BODY = { contents: [], content: 'x', requests: [], instances: [], messages: [], model: 'said' };
const VERTEX = '/projects/p/locations/us-central1';

describe('paths of Gemini and Vertex', () => {
  it.each([
    ['/v1beta/models/gemini-2.5-flash:generateContent', 'gemini-generate-content', 'gemini-2.5-flash', false],
    ['/v1/models/gemini-2.5-flash:streamGenerateContent', 'gemini-generate-content', 'gemini-2.5-flash', true],
    ['/v1alpha/models/m:generateContent', 'gemini-generate-content', 'm', false],
    ['/models/m:generateContent', 'gemini-generate-content', 'm', false],
    ['/v1beta/models/m:tuned:generateContent', 'gemini-generate-content', 'm:tuned', false],
    ['/v1beta/tunedModels/mine:generateContent', 'gemini-generate-content', 'tunedModels/mine', false],
    [`/v1${VERTEX}/publishers/google/models/m:generateContent`, 'gemini-generate-content', 'm', false],
    [`/v1beta1${VERTEX}/publishers/google/models/m:streamGenerateContent`, 'gemini-generate-content', 'm', true],
    ['/v1/publishers/google/models/m:streamGenerateContent', 'gemini-generate-content', 'm', true],
    [`/v1${VERTEX}/endpoints/77:generateContent`, 'gemini-generate-content', 'endpoints/77', false],
    ['/v1beta/models/gemini-embedding-001:embedContent', 'gemini-embed-content', 'gemini-embedding-001', false],
    ['/v1beta/models/gemini-embedding-001:batchEmbedContents', 'gemini-embed-content', 'gemini-embedding-001', false],
    [`/v1${VERTEX}/publishers/google/models/text-embedding-005:predict`, 'gemini-embed-content', 'text-embedding-005', false],
    [`/v1beta1${VERTEX}/endpoints/openapi/chat/completions`, 'openai-chat', 'said', false],
  ])('%s', (path, name, model, stream) => {
    const api = geminiRoute(path);
    expect(api?.api).toBe(name);
    expect(factsOf(api!, BODY)).toMatchObject({ api: name, model, stream });
  });

  it.each([
    '/', '', '/v1beta/models', '/v1beta/models/m', '/v1beta/models/m:countTokens', '/v1beta/models/a/b:generateContent', '/v1beta/models/:generateContent', '/v1beta/models/m:GenerateContent', '/v1beta/models/m:generateContent/x',
    '/x/v1beta/models/m:generateContent', '/v1beta/models/m:batchGenerateContent', `/v1${VERTEX}/publishers/meta/models/m:generateContent`, `/v1${VERTEX}/publishers/google/models/imagen-4:predict`, '/v1beta/cachedContents', '/v1/projects/p/models/m:generateContent',
    '/v1beta/endpoints/e:generateContent/', `/${'v1beta/models/m:'.repeat(5000)}`,
  ])('does not know %s', (path) => {
    expect(geminiRoute(path)).toBeNull();
  });
});

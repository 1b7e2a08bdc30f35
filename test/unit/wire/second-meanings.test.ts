import { describe, expect, it } from 'vitest';
import { routeOf } from '../../../src/wire/routes.js';

const BASE = { model: 'm', messages: [{ role: 'user', content: 'x' }], input: 'x', prompt: 'x' };
const PATHS = ['/v1/chat/completions', '/v1/completions', '/v1/responses', '/v1/embeddings', '/v1/messages', '/api/chat', '/api/generate', '/api/embed'];

function faultOf(path: string, json: string): string | null {
  const route = routeOf('POST', path);
  if (route.kind !== 'metered') throw new Error(`${path} is ${route.kind}`);
  const parsed = route.api.parseRequest(Buffer.from(json));
  return parsed.ok ? null : parsed.fault.field;
}
const body = (more: object): string => JSON.stringify({ ...BASE, ...more });

describe('bodies that some server reads as others (no unmetered holes)', () => {
  it.each(PATHS)('%s: what LiteLLM would put over the body must stand in it', (path) => {
    expect(faultOf(path, body({ extra_body: { messages: [] } }))).toBe('extra_body.messages');
    expect(faultOf(path, body({ extra_body: { top_k: 1, max_tokens: 9 } }))).toBe('extra_body.max_tokens');
    expect(faultOf(path, body({ extra_body: { stream_options: { include_usage: false } } }))).toBe('extra_body.stream_options');
    expect(faultOf(path, body({ extra_body: { extra_body: { n: 9 } } }))).toBe('extra_body.extra_body');
  });

  it.each(PATHS)('%s: other things in `extra_body`, as of Gemini, are fine', (path) => {
    for (const extra of [{ google: { thinking_config: { thinking_budget: 9 } } }, {}, null, 'model', ['model']]) expect(faultOf(path, body({ extra_body: extra }))).toBeNull();
  });

  it.each(PATHS)('%s: a field in capitals, which servers in Go take for it, is refused', (path) => {
    for (const key of ['Model', 'MODEL', 'moDel']) expect(faultOf(path, body({ [key]: 'other' }))).toBe('model');
    expect(faultOf(path, body({ 'Me\u017f\u017fages': [] }))).toBe('messages');
    expect(faultOf(path, body({ 'max_to\u212aens': 1 }))).toBe('max_tokens');
    expect(faultOf(path, body({ Prompt: 'x' }))).toBe('prompt');
    expect(faultOf(path, body({ 'X-Header': 1, maxTokens: 1, ['__proto__']: { Model: 1 }, Constructor: 1 }))).toBeNull();
  });
});

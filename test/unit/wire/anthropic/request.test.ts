import { describe, expect, it } from 'vitest';
import type { RequestFacts, RequestFault } from '../../../../src/domain/request.js';
import type { WireApi } from '../../../../src/domain/wire.js';
import { createEstimator } from '../../../../src/estimate/estimator.js';
import { anthropicMessages, anthropicOnVertex } from '../../../../src/wire/anthropic/messages.js';
import { anthropicRoute } from '../../../../src/wire/anthropic/routes.js';
import { cases, WHERE } from '../handed.js';
import { textsOf } from '../recorded.js';

const HELLO = [{ role: 'user', content: 'hello' }];

function facts(body: object, api: WireApi = anthropicMessages): RequestFacts {
  const parsed = api.parseRequest(Buffer.from(JSON.stringify(body)));
  if (!parsed.ok) throw new Error(parsed.fault.message);
  return parsed.facts;
}

function fault(body: object): RequestFault {
  const parsed = anthropicMessages.parseRequest(Buffer.from(JSON.stringify(body)));
  if (parsed.ok) throw new Error('taken');
  return parsed.fault;
}

const said = (more: object) => facts({ model: 'claude-x', max_tokens: 9, messages: HELLO, ...more });
const user = (...content: object[]) => said({ messages: [{ role: 'user', content }] }).prompt;

describe('facts of a messages request', () => {
  it('are those that a client sends', () => {
    const read = facts({
      model: 'claude-haiku-4-5',
      max_tokens: 4096,
      stream: true,
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } }],
      thinking: { type: 'enabled', budget_tokens: 1024 },
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }, { type: 'text', text: ' you', cache_control: { type: 'ephemeral' } }] }],
      metadata: { user_id: 'user_1_account__session_2' },
      service_tier: 'auto',
    });
    expect(read).toMatchObject({ api: 'anthropic-messages', model: 'claude-haiku-4-5', stream: true, usageRequested: false, outputCapTokens: 4096, choices: 1, background: false, session: 'user_1_account__session_2', work: null });
    expect(read.prompt).toMatchObject({ messages: 1, tools: 0, tokenIds: 0, media: [], references: [], system: textsOf('Be brief.'), text: textsOf('Hello', ' you') });
  });

  it('keep the system prompt apart, as a text, as blocks, and as a message', () => {
    expect(said({ system: 'Be brief.' }).prompt).toMatchObject({ system: textsOf('Be brief.'), text: textsOf('hello') });
    expect(said({ messages: [...HELLO, { role: 'system', content: 'Be brief.' }] }).prompt).toMatchObject({ messages: 2, system: textsOf('Be brief.'), text: textsOf('hello') });
  });

  it('count calls of tools and their results, and thinking without its signature', () => {
    const prompt = said({
      messages: [
        { role: 'assistant', content: [{ type: 'thinking', thinking: 'hm', signature: 'ErUBzzzz' }, { type: 'redacted_thinking', data: 'EqkEzzzz' }, { type: 'tool_use', id: 'toolu_1', name: 'look', input: { city: 'Rome' } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', is_error: false, content: 'sun' }, { type: 'tool_result', tool_use_id: 'toolu_2', content: [{ type: 'text', text: 'rain' }] }] },
      ],
    }).prompt;
    expect(prompt).toMatchObject({ messages: 2, media: [], text: textsOf('hm', 'look', '{"city":"Rome"}', 'sun', 'rain') });
  });

  it('count tools and the schema apart, the schema under both of its names', () => {
    const tools = [{ name: 'f', description: 'does', input_schema: { type: 'object', properties: {} } }, { type: 'web_search_20250305', name: 'web_search', max_uses: 5 }];
    const schema = { type: 'object', properties: { a: { type: 'string' } } };
    for (const format of [{ output_config: { format: { type: 'json_schema', schema }, effort: 'low' } }, { output_format: { type: 'json_schema', schema } }]) {
      expect(said({ tools, ...format }).prompt).toMatchObject({ tools: 2, toolText: textsOf(JSON.stringify(tools)), schema: textsOf(JSON.stringify(schema)), text: textsOf('hello') });
    }
  });

  it('have pictures and documents by their bytes, also in the result of a tool', () => {
    const data = 'A'.repeat(4000);
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data } };
    const pdf = { type: 'document', title: 'T', source: { type: 'base64', media_type: 'application/pdf', data } };
    const prompt = user(image, pdf, { type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'shot' }, image] });
    expect(prompt.media).toMatchObject([{ kind: 'image', bytes: 3000 }, { kind: 'file', bytes: 3000 }, { kind: 'image', bytes: 3000 }]);
    expect(prompt.text).toEqual(textsOf('T', 'shot'));
  });

  it('have documents of text as text, and what is fetched by its address as media of unknown size', () => {
    expect(user({ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'plain words' } })).toMatchObject({ text: textsOf('plain words'), media: [] });
    expect(user({ type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'plain words' }] } })).toMatchObject({ text: textsOf('plain words'), media: [] });
    expect(user({ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }).media).toMatchObject([{ kind: 'image', bytes: null }]);
  });

  it('name what the body only refers to', () => {
    const references = (more: object) => said(more).prompt.references;
    expect(references({ container: 'container_1' })).toEqual([{ kind: 'file', id: 'container_1' }]);
    expect(references({ container: { id: 'container_1', skills: [] } })).toEqual([{ kind: 'file', id: 'container_1' }]);
    expect(references({ thread: { type: 'continue', previous_message_id: 'msg_1' } })).toEqual([{ kind: 'response', id: 'msg_1' }]);
    const kept = { type: 'document', source: { type: 'file', file_id: 'file_1' } };
    expect(references({ messages: [{ role: 'user', content: [kept, { type: 'tool_result', tool_use_id: 't', content: [{ type: 'image', source: { type: 'file', file_id: 'file_2' } }] }] }] })).toEqual([{ kind: 'file', id: 'file_1' }, { kind: 'file', id: 'file_2' }]);
    expect(references({ container: null, thread: { type: 'create' } })).toEqual([]);
  });

  it('have a cap of zero where the client only fills the cache, and none where it gave none', () => {
    expect(said({ max_tokens: 0 }).outputCapTokens).toBe(0);
    expect(said({ max_tokens: null }).outputCapTokens).toBeNull();
  });

  it('are not disturbed by what is of no weight', () => {
    const more = { mcp_servers: [{ type: 'url', url: 'https://example.com', name: 'm' }], context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] }, temperature: 1, stop_sequences: ['END'], tool_choice: { type: 'auto' }, unheard_of: [{}] };
    expect(said(more)).toEqual(said({}));
    expect(user({ type: 'brand_new_kind', x: 1 }, { type: 'container_upload', file_id: 'file_1' }).messages).toBe(1);
  });

  it('hand the prompt over in the order in which the model sees it', () => {
    const pieces: string[] = [];
    const body = { messages: [{ role: 'user', content: 'hello' }], system: 'be brief', tools: [{ name: 'f' }], model: 'm' };
    anthropicMessages.parseRequest(Buffer.from(JSON.stringify(body)), { add: (piece) => void pieces.push(piece), media: () => undefined });
    const whole = pieces.join('');
    const places = ['"name":"f"', 'be brief', 'user', 'hello'].map((part) => whole.indexOf(part));
    expect(places[0]).toBeGreaterThanOrEqual(0);
    expect(places).toEqual([...places].sort((a, b) => a - b));
  });
});

describe('a bad messages request gets a clear fault', () => {
  it.each([
    ['missing_field', 'model', { messages: [] }],
    ['missing_field', 'messages', { model: 'm' }],
    ['wrong_type', 'messages', { model: 'm', messages: 'hi' }],
    ['wrong_type', 'messages[1]', { model: 'm', messages: [{}, 'hi'] }],
    ['wrong_type', 'stream', { model: 'm', messages: [], stream: 'true' }],
    ['wrong_type', 'max_tokens', { model: 'm', messages: [], max_tokens: '9' }],
    ['out_of_range', 'max_tokens', { model: 'm', messages: [], max_tokens: -9 }],
  ])('%s, field %s', (kind, field, body) => {
    expect(fault(body)).toMatchObject({ kind, field });
  });

  it('and so does what is no object', () => {
    expect(anthropicMessages.parseRequest(Buffer.from('[]'))).toMatchObject({ ok: false, fault: { kind: 'not_an_object' } });
  });
});

describe('the same API on Vertex', () => {
  it('takes model and stream from the path, whatever the body says', () => {
    const body = { anthropic_version: 'vertex-2023-10-16', messages: HELLO, max_tokens: 5 };
    expect(facts(body, anthropicOnVertex('claude-x@20250929', true))).toMatchObject({ api: 'anthropic-messages', model: 'claude-x@20250929', stream: true, outputCapTokens: 5 });
    expect(facts({ ...body, model: 'cheap', stream: true }, anthropicOnVertex('claude-x', false))).toMatchObject({ model: 'claude-x', stream: false });
  });
});

describe('the paths of the Messages API', () => {
  it.each(['/v1/messages', '/messages'])('%s', (path) => {
    expect(anthropicRoute(path)?.api).toBe('anthropic-messages');
  });

  it.each(['/', '/v1/messages/count_tokens', '/v1/messages/batches', '/v1/Messages', '/v1/complete'])('not %s', (path) => {
    expect(anthropicRoute(path)).toBeNull();
  });

  it.each(['/v1/projects/p/locations/global', '/v1beta1/projects/p/locations/us-east5', ''])('Vertex’s below %s', (place) => {
    const body = Buffer.from(JSON.stringify({ anthropic_version: 'vertex-2023-10-16', messages: HELLO }));
    for (const [method, stream] of [['rawPredict', false], ['streamRawPredict', true]] as const) {
      expect(anthropicRoute(`${place}/publishers/anthropic/models/claude-x@20250929:${method}`)?.parseRequest(body)).toMatchObject({ ok: true, facts: { model: 'claude-x@20250929', stream } });
    }
    expect(anthropicRoute(`${place}/publishers/anthropic/models/count-tokens:rawPredict`)).toBeNull();
    expect(anthropicRoute(`${place}/publishers/anthropic/models/count-tokens@1:rawPredict`)).toBeNull();
    expect(anthropicRoute(`${place}/publishers/google/models/gemini-x:rawPredict`)).toBeNull();
  });

  it('need not be asked for usage', () => {
    expect(anthropicMessages.askForUsage(Buffer.from('{"stream":true}'))).toEqual([]);
  });
});

describe.skipIf(cases === null)(`faults that users reported${WHERE}`, () => {
  it('QuantumNous/new-api#7148: a picture in a tool result is not text', () => {
    const found = cases!.get('QuantumNous/new-api#7148')!;
    const text = JSON.stringify(found.input.request).replace('<400 kB of A>', 'A'.repeat(400_000));
    const parsed = anthropicMessages.parseRequest(Buffer.from(text));
    if (!parsed.ok) throw new Error(parsed.fault.message);
    expect(createEstimator().prompt('t', parsed.facts).tokens).toBeLessThanOrEqual(found.expected['input_estimate_max']!);
    expect(parsed.facts.prompt).toMatchObject({ media: [{ kind: 'image', bytes: 300_000 }], text: textsOf('shot taken') });
  });
});

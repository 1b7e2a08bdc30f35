import { describe, expect, it } from 'vitest';
import type { ParsedRequest, RequestFacts } from '../../../../src/domain/request.js';
import { bedrockConverse, bedrockInvoke } from '../../../../src/wire/bedrock/bedrock.js';
import { createEstimator } from '../../../../src/estimate/estimator.js';
import { cases, WHERE } from '../handed.js';
import { countsOf } from '../recorded.js';

const NOVA = 'us.amazon.nova-2-lite-v1:0';
const CLAUDE = 'us.anthropic.claude-sonnet-4-20250514-v1:0';
const PROFILE = 'arn:aws:bedrock:us-east-1:000000000000:application-inference-profile/abc123';
const KEPT = 'arn:aws:bedrock:us-east-1:000000000000:prompt/P1:2';
const messages = [{ role: 'user', content: [{ text: 'Hello there' }] }];

function factsOf(parsed: ParsedRequest): RequestFacts {
  if (!parsed.ok) throw new Error(parsed.fault.message);
  return parsed.facts;
}

const converse = (body: unknown, model = NOVA) => factsOf(bedrockConverse(model, false).parseRequest(Buffer.from(JSON.stringify(body))));
const invoke = (body: unknown, model = NOVA) => factsOf(bedrockInvoke(model, false).parseRequest(Buffer.from(JSON.stringify(body))));
const faultOf = (body: unknown, model = NOVA) => {
  const parsed = bedrockConverse(model, false).parseRequest(Buffer.from(JSON.stringify(body)));
  return parsed.ok ? null : [parsed.fault.kind, parsed.fault.field];
};

/** What is counted of texts that stand apart. */
function apart(...texts: readonly string[]): Float64Array {
  const counts = texts.map((text) => countsOf(text));
  return countsOf('').map((_, feature) => counts.reduce((sum, one) => sum + one[feature]!, 0));
}

/** All text but tools and schemas, in the order in which it is shown. */
function shownOf(body: unknown, api = bedrockConverse(NOVA, false)): string[] {
  const shown: string[] = [];
  factsOf(api.parseRequest(Buffer.from(JSON.stringify(body)), { add: (piece) => void shown.push(piece), media: () => void shown.push('(media)') }));
  return shown;
}

describe('facts of Converse', () => {
  it('takes model and streaming from the path, whatever the body says', () => {
    const body = Buffer.from(JSON.stringify({ model: 'cheap', modelId: 'cheap', stream: true, messages }));
    expect(factsOf(bedrockConverse(PROFILE, true).parseRequest(body))).toMatchObject({ api: 'bedrock-converse', model: PROFILE, stream: true, choices: 1, background: false });
    expect(factsOf(bedrockConverse(NOVA, false).parseRequest(body))).toMatchObject({ model: NOVA, stream: false, usageRequested: false });
  });

  it('counts texts by kind, without ids, cache points and what is sealed', () => {
    const content = [
      { text: 'one' }, { cachePoint: { type: 'default', ttl: '1h' } }, { toolUse: { toolUseId: 'zzz', name: 'find', input: { a: 1 } } },
      { toolResult: { toolUseId: 'zzz', status: 'success', content: [{ text: 'two' }, { json: { b: 2 } }] } },
      { reasoningContent: { reasoningText: { text: 'three', signature: 'zzz' } } }, { reasoningContent: { redactedContent: 'zzz' } }, { guardContent: { text: { text: 'four' } } },
      { newBlock: { note: 'five' } },
    ];
    const { prompt } = converse({ system: [{ text: 'rule' }, { cachePoint: { type: 'default' } }, { guardContent: { text: { text: 'guard' } } }], messages: [{ role: 'user', content }] });
    expect(prompt.system).toEqual(apart('rule', 'guard'));
    expect(prompt.text).toEqual(apart('one', 'find', '{"a":1}', 'two', '{"b":2}', 'three', 'four', 'five'));
    expect(prompt).toMatchObject({ messages: 1, tools: 0, media: [] });
  });

  it('counts tools without cache points, and the schema', () => {
    const tool = { toolSpec: { name: 'find', description: 'Finds.', inputSchema: { json: { type: 'object' } } } };
    const schema = { type: 'object', properties: { a: { type: 'string' } } };
    const outputConfig = { textFormat: { type: 'json_schema', structure: { jsonSchema: { name: 'n', schema: JSON.stringify(schema) } } } };
    const { prompt } = converse({ messages, toolConfig: { tools: [tool, { cachePoint: { type: 'default' } }, { systemTool: { name: 'nova_grounding' } }] }, outputConfig });
    expect(prompt.tools).toBe(2);
    expect(prompt.toolText).toEqual(apart(JSON.stringify([tool, { systemTool: { name: 'nova_grounding' } }])));
    expect(prompt.schema).toEqual(apart(JSON.stringify(schema)));
    const deep = { textFormat: { structure: { jsonSchema: { schema: '['.repeat(50_000) } } } };
    expect(converse({ messages, outputConfig: deep }).prompt.schema.some((count) => count > 0)).toBe(true);
  });

  it('tells media from text: bytes, and what is in S3', () => {
    const bytes = 'A'.repeat(40_000);
    const block = (kind: string) => ({ [kind]: { format: 'png', source: { bytes } } });
    const content = [block('image'), { document: { format: 'pdf', name: 'report', source: { bytes } } }, block('video'), block('audio'), { image: { source: { s3Location: { uri: 's3://b/k' } } } }];
    const { prompt } = converse({ messages: [{ role: 'user', content: [...content, { document: { source: { text: 'plain' } } }, { toolResult: { content: [block('image')] } }] }] });
    expect(prompt.media.map(({ kind, bytes: size }) => [kind, size])).toEqual([['image', 30_000], ['file', 30_000], ['video', 30_000], ['audio', 30_000], ['image', null], ['image', 30_000]]);
    expect(prompt.text).toEqual(apart('report', 'plain'));
  });

  it.skipIf(cases === null)(`QuantumNous/new-api#7148: a picture in a tool result is not text, as Bedrock writes it${WHERE}`, () => {
    const data = 'A'.repeat(400_000);
    const image = { image: { format: 'png', source: { bytes: data } } };
    const bodies = [
      converse({ messages: [{ role: 'user', content: [{ toolResult: { toolUseId: 't1', content: [{ text: 'shot taken' }, image] } }] }] }),
      invoke({ messages: [{ role: 'user', content: [{ toolResult: { toolUseId: 't1', content: [{ text: 'shot taken' }, image] } }] }] }),
      invoke({ messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data } }] }] }] }, CLAUDE),
    ];
    const limit = cases?.get('QuantumNous/new-api#7148')?.expected['input_estimate_max'];
    for (const facts of bodies) expect(createEstimator().prompt('t', facts).tokens).toBeLessThanOrEqual(limit!);
  });

  it.each([
    [{ inferenceConfig: { maxTokens: 40 } }, 40],
    [{ inferenceConfig: { maxTokens: 40 }, additionalModelRequestFields: { max_tokens: 90, thinking: { budget_tokens: 1024 } } }, 90],
    [{ inferenceConfig: { maxTokens: 40 }, additionalModelRequestFields: { max_tokens: 9 } }, 40],
    [{ additionalModelRequestFields: { inferenceConfig: { maxTokens: 7 } } }, 7],
    [{ inferenceConfig: { maxTokens: null } }, null],
    [{ inferenceConfig: { maxTokens: 0 } }, null],
    [{ inferenceConfig: {} }, null],
    [{}, null],
  ])('the output cap of %j is %s', (config, cap) => {
    expect(converse({ messages, ...config }).outputCapTokens).toBe(cap);
  });

  it('takes the session and the kind of work', () => {
    expect(converse({ messages, requestMetadata: { session_id: 's1' }, serviceTier: { type: 'flex' } })).toMatchObject({ session: 's1', work: 'background' });
    expect(converse({ messages, requestMetadata: { sessionId: 's2' }, serviceTier: { type: 'priority' } })).toMatchObject({ session: 's2', work: null });
    expect(converse({ messages, requestMetadata: 'x', serviceTier: 3 })).toMatchObject({ session: null, work: null });
  });

  it('takes a prompt that Bedrock keeps as a reference, with what is put into it', () => {
    const { prompt } = converse({ promptVariables: { topic: { text: 'rivers' } } }, KEPT);
    expect(prompt.references).toEqual([{ kind: 'file', id: KEPT }]);
    expect(prompt.text).toEqual(apart('rivers'));
  });

  it.each([
    [{}, ['missing_field', 'messages']],
    [{ messages: 'x' }, ['wrong_type', 'messages']],
    [{ messages: [1] }, ['wrong_type', 'messages[0]']],
    [{ messages, inferenceConfig: { maxTokens: 'x' } }, ['wrong_type', 'inferenceConfig.maxTokens']],
    [{ messages, inferenceConfig: { maxTokens: -1 } }, ['out_of_range', 'inferenceConfig.maxTokens']],
    [{ messages, additionalModelRequestFields: { max_tokens: 1e300 } }, ['out_of_range', 'additionalModelRequestFields.max_tokens']],
    [{ messages, toolConfig: 'x' }, ['wrong_type', 'toolConfig']],
  ])('names what is wrong with %j', (body, fault) => {
    expect(faultOf(body)).toEqual(fault);
  });

  it('refuses a model name that is too long, and what is no JSON', () => {
    expect(faultOf({ messages }, 'm'.repeat(300))).toEqual(['out_of_range', 'model']);
    for (const api of [bedrockConverse(NOVA, true), bedrockInvoke(NOVA, true), bedrockInvoke(CLAUDE, true)]) {
      for (const text of ['', '{', '[]', 'null', '"x"', '[['.repeat(200)]) expect(api.parseRequest(Buffer.from(text)).ok).toBe(false);
    }
  });

  it('shows the prompt in the order in which an engine sees it, however the body is ordered', () => {
    const tools = { tools: [{ toolSpec: { name: 'find' } }] };
    const expected = [JSON.stringify(tools.tools), 'rule', '\nuser\n', 'Hello there'];
    expect(shownOf({ messages, system: [{ text: 'rule' }], toolConfig: tools })).toEqual(expected);
    expect(shownOf({ toolConfig: tools, system: [{ text: 'rule' }], messages })).toEqual(expected);
  });

  it('survives any value at any place', () => {
    for (const odd of [null, 1, 'x', true, [], {}, [null], [[]], { a: null }]) {
      const block = { text: odd, toolUse: odd, toolResult: odd, reasoningContent: odd, image: odd, document: odd, cachePoint: odd };
      const body = { system: odd, inferenceConfig: odd, additionalModelRequestFields: odd, outputConfig: odd, requestMetadata: odd, serviceTier: odd, promptVariables: odd };
      for (const messages of [odd, [{ role: odd, content: odd }], [{ content: [block, odd] }]]) {
        for (const api of [bedrockConverse(NOVA, true), bedrockConverse(KEPT, true), bedrockInvoke(NOVA, true), bedrockInvoke(CLAUDE, true)]) {
          expect(() => api.parseRequest(Buffer.from(JSON.stringify({ ...body, messages, toolConfig: odd, tools: odd, prompt: odd, images: odd })))).not.toThrow();
        }
      }
    }
  });
});

describe('facts of InvokeModel', () => {
  it.each<[string, string, object, object]>([
    ['Claude', CLAUDE, { anthropic_version: 'bedrock-2023-05-31', max_tokens: 9, system: 'rule', messages: [{ role: 'user', content: 'one' }] }, { cap: 9, text: 'one', system: 'rule' }],
    ['Claude before messages', 'anthropic.claude-v2:1', { prompt: 'one', max_tokens_to_sample: 9 }, { cap: 9, text: 'one' }],
    ['Claude behind a profile', PROFILE, { anthropic_version: 'bedrock-2023-05-31', max_tokens: 9, system: 'rule', messages: [{ role: 'user', content: 'one' }] }, { cap: 9, text: 'one', system: 'rule' }],
    ['Nova', NOVA, { schemaVersion: 'messages-v1', system: [{ text: 'rule' }], messages: [{ role: 'user', content: [{ text: 'one' }] }], inferenceConfig: { maxTokens: 9 } }, { cap: 9, text: 'one', system: 'rule' }],
    ['Nova of before', NOVA, { messages: [{ role: 'user', content: [{ text: 'one' }] }], inferenceConfig: { max_new_tokens: 9 } }, { cap: 9, text: 'one' }],
    ['Llama', 'meta.llama3-8b-instruct-v1:0', { prompt: 'one', max_gen_len: 9 }, { cap: 9, text: 'one' }],
    ['Mistral', 'mistral.mistral-large-2402-v1:0', { prompt: 'one', max_tokens: 9 }, { cap: 9, text: 'one' }],
    ['Titan', 'amazon.titan-text-express-v1', { inputText: 'one', textGenerationConfig: { maxTokenCount: 9, stopSequences: ['zzz'] } }, { cap: 9, text: 'one' }],
    ['Titan embeddings', 'amazon.titan-embed-text-v2:0', { inputText: 'one', dimensions: 512 }, { cap: 0, text: 'one' }],
    ['Cohere embeddings', 'cohere.embed-english-v3', { texts: ['one'], input_type: 'search_document', truncate: 'NONE' }, { cap: 0, text: 'one' }],
    ['Cohere reranking', 'cohere.rerank-v3-5:0', { query: 'one', documents: [], top_n: 3, api_version: 2 }, { cap: 0, text: 'one' }],
    ['Cohere', 'cohere.command-r-v1:0', { message: 'one', max_tokens: 9 }, { cap: 9, text: 'one' }],
    ['gpt-oss', 'openai.gpt-oss-120b-1:0', { messages: [{ role: 'system', content: 'rule' }, { role: 'user', content: 'one' }], max_completion_tokens: 9 }, { cap: 9, text: 'one', system: 'rule' }],
    ['a family that nobody knows', 'new.model-v1', { some_new_prompt: { parts: ['one'] }, max_tokens: 9, max_new_tokens: 3 }, { cap: 9, text: 'one' }],
  ])('reads the body of %s', (_name, model, body, expected) => {
    const { cap, text, system = '' } = expected as { cap: number; text: string; system?: string };
    const facts = invoke(body, model);
    expect(facts).toMatchObject({ api: 'bedrock-invoke', model, stream: false, outputCapTokens: cap, choices: 1 });
    expect(facts.prompt.text).toEqual(apart(text));
    expect(facts.prompt.system).toEqual(apart(system));
  });

  it('counts all texts of several prompts, the choices and the tools', () => {
    const facts = invoke({ chat_history: [{ role: 'USER', message: 'one' }], message: 'two', documents: [{ snippet: 'three' }], num_generations: 3, tools: [{ name: 'find' }] }, 'cohere.command-r-v1:0');
    expect(facts.prompt.text).toEqual(apart('one', 'three', 'two'));
    expect(facts).toMatchObject({ choices: 3, prompt: { tools: 1 } });
  });

  it('does not let a body that looks like another family’s past the count', () => {
    for (const model of [NOVA, 'amazon.titan-text-express-v1', PROFILE]) {
      expect(invoke({ inputText: '', messages: [{ role: 'user', content: [{ text: 'one' }] }], prompt: 'two' }, model).prompt.text).toEqual(apart('one', 'two'));
    }
  });

  it('tells bare base64 of pictures from text', () => {
    const data = 'A'.repeat(40_000);
    for (const body of [{ image: data }, { images: [data] }, { inputImage: data }, { inPaintingParams: { image: data } }, { init_image: data, mask: data }]) {
      const { prompt } = invoke(body, 'stability.sd3-5-large-v1:0');
      expect(prompt.text).toEqual(apart(''));
      expect(new Set(prompt.media.map(({ kind, bytes }) => `${kind} ${bytes}`))).toEqual(new Set(['image 30000']));
    }
  });
});

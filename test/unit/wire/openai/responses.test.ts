import { describe, expect, it } from 'vitest';
import type { RequestFacts, RequestFault } from '../../../../src/domain/request.js';
import type { ResponseReading } from '../../../../src/domain/wire.js';
import { createEstimator } from '../../../../src/estimate/estimator.js';
import { openaiResponses } from '../../../../src/wire/openai/openai.js';
import { feed } from '../feed.js';
import { cases, WHERE } from '../handed.js';
import { countsOf, figuresOf, namedEvents, recordings, textsOf, totalsOf } from '../recorded.js';

function facts(body: object): RequestFacts {
  const parsed = openaiResponses.parseRequest(Buffer.from(JSON.stringify(body)));
  if (!parsed.ok) throw new Error(parsed.fault.message);
  return parsed.facts;
}

function fault(body: object): RequestFault {
  const parsed = openaiResponses.parseRequest(Buffer.from(JSON.stringify(body)));
  if (parsed.ok) throw new Error('taken');
  return parsed.fault;
}

const asked = (more: object) => facts({ model: 'm', input: 'hello', ...more });
const items = (...input: object[]) => asked({ input }).prompt;

describe('facts of a responses request', () => {
  it('are those that a client sends', () => {
    const read = facts({
      model: 'gpt-x',
      stream: true,
      instructions: 'Be brief.',
      input: [{ role: 'developer', content: 'Also kind.' }, { role: 'user', content: [{ type: 'input_text', text: 'Hello' }] }],
      max_output_tokens: 500,
      reasoning: { effort: 'low' },
      service_tier: 'flex',
      metadata: { session_id: 's1', user_id: 'u1' },
      prompt_cache_key: 'k',
    });
    expect(read).toMatchObject({ api: 'openai-responses', model: 'gpt-x', stream: true, usageRequested: false, outputCapTokens: 500, choices: 1, session: 's1', work: 'background', background: false });
    expect(read.prompt).toMatchObject({ messages: 2, references: [], media: [] });
    expect(read.prompt.system).toEqual(textsOf('Be brief.', 'Also kind.'));
    expect(read.prompt.text).toEqual(textsOf('Hello'));
  });

  it('take a plain text for a message', () => {
    expect(asked({}).prompt).toMatchObject({ messages: 1, text: textsOf('hello') });
  });

  it('tell a session by its own name only: one user has many', () => {
    expect(asked({ metadata: { user_id: 'u1' } }).session).toBeNull();
  });

  it('count calls, what came of them, and summaries of reasoning without what is sealed', () => {
    const prompt = items(
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'gAAAzzzz' },
      { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'look', arguments: '{"city":"Rome"}', status: 'completed' },
      { type: 'function_call_output', call_id: 'c1', output: 'sun' },
      { type: 'custom_tool_call', call_id: 'c2', name: 'sh', input: 'ls' },
      { type: 'custom_tool_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'file' }] },
      { type: 'message', id: 'msg_1', status: 'completed', role: 'assistant', content: [{ type: 'output_text', text: 'Fine.', annotations: [], logprobs: [] }] },
      { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAAzzzz' },
    );
    expect(prompt).toMatchObject({ messages: 7, media: [], references: [] });
    expect(prompt.text).toEqual(textsOf('hm', 'look', '{"city":"Rome"}', 'sun', 'sh', 'ls', 'file', 'Fine.'));
  });

  it('count tools and the schema apart, and tools that come with the conversation', () => {
    const tools = [{ type: 'function', name: 'f', parameters: { type: 'object' } }, { type: 'web_search' }];
    const format = { type: 'json_schema', name: 's', schema: { type: 'object' } };
    const read = asked({ tools, text: { format, verbosity: 'low' }, input: [{ role: 'user', content: 'hello' }, { type: 'additional_tools', role: 'developer', tools: [tools[0]] }] }).prompt;
    expect(read).toMatchObject({ tools: 3, messages: 1, text: textsOf('hello'), schema: textsOf(JSON.stringify(format)), toolText: textsOf(JSON.stringify(tools), JSON.stringify([tools[0]])) });
    expect(asked({ text: { format: { type: 'text' } } }).prompt.schema).toEqual(textsOf(''));
  });

  it('have pictures, sounds and files by their bytes', () => {
    const data = 'A'.repeat(4000);
    const prompt = items(
      { role: 'user', content: [{ type: 'input_image', detail: 'low', image_url: `data:image/png;base64,${data}` }, { type: 'input_audio', input_audio: { data, format: 'wav' } }, { type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${data}` }] },
      { type: 'computer_call_output', call_id: 'c', output: { type: 'computer_screenshot', image_url: `data:image/png;base64,${data}` } },
      { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: data },
      { role: 'user', content: [{ type: 'input_image', image_url: 'https://example.com/a.png' }] },
    );
    expect(prompt.media).toMatchObject([
      { kind: 'image', bytes: 3000, detail: 'low' },
      { kind: 'audio', bytes: 3000 },
      { kind: 'file', bytes: 3000 },
      { kind: 'image', bytes: 3000 },
      { kind: 'image', bytes: 3000 },
      { kind: 'image', bytes: null },
    ]);
    expect(prompt.text).toEqual(textsOf('a.pdf'));
  });

  it('name what the body only refers to', () => {
    const references = (more: object) => asked(more).prompt.references;
    expect(references({ previous_response_id: 'resp_1' })).toEqual([{ kind: 'response', id: 'resp_1' }]);
    expect(references({ conversation: 'conv_1' })).toEqual([{ kind: 'conversation', id: 'conv_1' }]);
    expect(references({ conversation: { id: 'conv_1' } })).toEqual([{ kind: 'conversation', id: 'conv_1' }]);
    expect(references({ input: [{ type: 'item_reference', id: 'msg_1' }, { id: 'rs_1' }, { role: 'user', content: 'hi', id: 'x' }] })).toEqual([{ kind: 'response', id: 'rs_1' }]);
    expect(references({ input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file_1' }, { type: 'input_image', file_id: 'file_2' }] }] })).toEqual([{ kind: 'file', id: 'file_1' }, { kind: 'file', id: 'file_2' }]);
    expect(references({ previous_response_id: null, conversation: null })).toEqual([]);
  });

  it('say that the answer is made later', () => {
    expect(asked({ background: true }).background).toBe(true);
  });

  it('need no input where something else tells what to say, nor a model where a stored prompt has one', () => {
    expect(facts({ model: 'm', previous_response_id: 'resp_1' }).prompt.messages).toBe(0);
    expect(facts({ prompt: { id: 'pmpt_1', version: '2', variables: { city: 'Rome' } } })).toMatchObject({ model: 'prompt:pmpt_1', prompt: { text: textsOf('Rome') } });
    expect(facts({ model: 'm', prompt: { id: 'pmpt_1' } }).model).toBe('m');
  });

  it('have no cap where the body’s is zero', () => {
    expect(asked({ max_output_tokens: 0 }).outputCapTokens).toBeNull();
    expect(asked({ max_output_tokens: null }).outputCapTokens).toBeNull();
  });
});

describe('a bad responses request gets a clear fault', () => {
  it.each([
    ['missing_field', 'model', { input: 'x' }],
    ['missing_field', 'model', { input: 'x', prompt: { id: 'p'.repeat(300) } }],
    ['wrong_type', 'input', { model: 'm', input: 5 }],
    ['wrong_type', 'input', { model: 'm', input: { role: 'user' } }],
    ['wrong_type', 'input[1]', { model: 'm', input: [{}, 'x'] }],
    ['wrong_type', 'stream', { model: 'm', input: 'x', stream: 'true' }],
    ['wrong_type', 'background', { model: 'm', input: 'x', background: 'true' }],
    ['out_of_range', 'max_output_tokens', { model: 'm', input: 'x', max_output_tokens: -1 }],
  ])('%s, field %s', (kind, field, body) => {
    expect(fault(body)).toMatchObject({ kind, field });
  });
});

function read(...pieces: (string | Buffer)[]): ResponseReading {
  const reader = openaiResponses.responseReader({ framing: 'sse', hideUsage: false });
  feed(reader, pieces);
  return reader.reading;
}

function body(response: object): ResponseReading {
  const reader = openaiResponses.responseReader({ framing: 'json', hideUsage: false });
  feed(reader, [JSON.stringify(response)]);
  return reader.reading;
}

const USAGE = { input_tokens: 50, input_tokens_details: { cached_tokens: 20, cache_write_tokens: 5 }, output_tokens: 30, output_tokens_details: { reasoning_tokens: 12 }, total_tokens: 80 };
const response = (type: string, more: object = {}) => ({ type: `response.${type}`, response: { id: 'resp_1', object: 'response', model: 'gpt-y', status: type, service_tier: 'default', error: null, output: [], usage: null, ...more } });
const delta = (kind: string, text: string, index = 0) => ({ type: `response.${kind}.delta`, output_index: index, delta: text });

describe('an answer of the Responses API', () => {
  it.each(['completed', 'incomplete'])('tells its usage once, at its end: %s', (end) => {
    const reading = read(namedEvents(response('created'), response('in_progress'), delta('output_text', 'ab'), response(end, { usage: USAGE })));
    expect(reading).toMatchObject({
      usage: { inputTokens: 50, cachedInputTokens: 20, cacheWriteTokens: 5, outputTokens: 30, reasoningTokens: 12 },
      responseId: 'resp_1',
      model: 'gpt-y',
      serviceTier: 'default',
      complete: true,
      sawError: false,
      outputPieces: 1,
    });
  });

  it('adds reasoning only where the total says that it stands beside, and no count that is repeated elsewhere', () => {
    const usage = (output_tokens: number, total_tokens: number) => ({ input_tokens: 10, output_tokens, output_tokens_details: { reasoning_tokens: 7 }, total_tokens, context_details: { input_tokens: 10, output_tokens } });
    expect(read(namedEvents(response('completed', { usage: usage(5, 22) }))).usage?.outputTokens).toBe(12);
    expect(read(namedEvents(response('completed', { usage: usage(9, 19) }))).usage?.outputTokens).toBe(9);
  });

  it('may fail, and be billed all the same', () => {
    expect(read(namedEvents(response('created'), response('failed', { error: { code: 'server_error', message: 'x' }, usage: USAGE })))).toMatchObject({ sawError: true, complete: true, usage: { inputTokens: 50 } });
    expect(read(namedEvents({ type: 'error', code: 'x', message: 'x', param: null }))).toMatchObject({ sawError: true, complete: false, usage: null });
    expect(body({ error: { message: 'x', type: 'invalid_request_error' } })).toMatchObject({ sawError: true, sawOutput: false });
  });

  it('counts what the model wrote once, though later events repeat it', () => {
    const message = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'cd', annotations: [] }, { type: 'refusal', refusal: 'ef' }] };
    const call = { type: 'function_call', name: 'gh', arguments: '{"i":1}' };
    const reading = read(
      namedEvents(
        response('created'),
        delta('reasoning_summary_text', 'ab'),
        { type: 'response.reasoning_summary_text.done', output_index: 0, text: 'ab' },
        { type: 'response.output_item.done', output_index: 0, item: { type: 'reasoning', summary: [{ type: 'summary_text', text: 'ab' }], encrypted_content: 'zzzz' } },
        { type: 'response.output_item.added', output_index: 1, item: { ...message, content: [] } },
        delta('output_text', 'cd', 1),
        delta('refusal', 'ef', 1),
        { type: 'response.output_text.done', output_index: 1, text: 'cd' },
        { type: 'response.content_part.done', output_index: 1, part: message.content[0] },
        { type: 'response.output_item.done', output_index: 1, item: message },
        { type: 'response.output_item.added', output_index: 2, item: { ...call, arguments: '' } },
        delta('function_call_arguments', '{"i":1}', 2),
        { type: 'response.function_call_arguments.done', output_index: 2, arguments: '{"i":1}' },
        { type: 'response.output_item.done', output_index: 2, item: call },
        { type: 'response.audio.delta', output_index: 3, delta: 'QUFB' },
        { type: 'response.web_search_call.searching', output_index: 4 },
        response('completed', { output: [message, call] }),
      ),
    );
    expect(reading.output).toEqual(countsOf('ab', 'cd', 'ef', 'gh', '{"i":1}'));
    expect(reading.outputPieces).toBe(5);
  });

  it('counts items that came without deltas, and an output that came with the end only', () => {
    const item = { type: 'function_call', name: 'ab', arguments: 'cd' };
    expect(read(namedEvents({ type: 'response.output_item.added', output_index: 0, item: { ...item, arguments: '' } }, { type: 'response.output_item.done', output_index: 0, item })).output).toEqual(countsOf('ab', 'cd'));
    expect(read(namedEvents(response('completed', { output: [item] }))).output).toEqual(countsOf('ab', 'cd'));
  });

  it('is whole at its last event only', () => {
    expect(read(namedEvents(response('created'), delta('output_text', 'a'))).complete).toBe(false);
    expect(read(namedEvents(response('queued'), response('in_progress'))).complete).toBe(false);
  });

  it('is read by the names of its events where the data has none', () => {
    expect(read(`event: response.completed\ndata: {"response":{"usage":{"input_tokens":1,"output_tokens":2}}}\n\n`)).toMatchObject({ complete: true, usage: { inputTokens: 1, outputTokens: 2 } });
  });

  it('survives what servers should not send', () => {
    const odd = [{ type: 'response.completed' }, { type: 'response.created', response: [] }, { type: 'response.output_text.delta', delta: { a: 1 } }, { type: 'response.output_item.done', item: { content: [null, 5], summary: 'x' } }, { type: 5 }, {}];
    expect(read(namedEvents(...odd))).toMatchObject({ usage: null, sawOutput: false, unreadable: false });
  });

  it('may be one JSON body', () => {
    const output = [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'ab' }] }, { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'cd' }] }, { type: 'function_call', name: 'ef', arguments: '{}' }];
    const reading = body({ id: 'resp_2', object: 'response', model: 'gpt-y', status: 'completed', service_tier: 'flex', error: null, output, usage: USAGE });
    expect(reading).toMatchObject({ responseId: 'resp_2', model: 'gpt-y', serviceTier: 'flex', complete: true, sawOutput: true, sawError: false, usage: { inputTokens: 50, outputTokens: 30 } });
    expect(reading.output).toEqual(countsOf('ab', 'cd', 'ef', '{}'));
  });

  it('may be one that waits in a queue, or a compaction, which repeats what the user said', () => {
    expect(body({ id: 'resp_3', object: 'response', model: 'm', status: 'queued', output: [], usage: null })).toMatchObject({ responseId: 'resp_3', usage: null, sawOutput: false, sawError: false });
    const compacted = { id: 'resp_4', object: 'response.compaction', output: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'ab' }] }, { type: 'compaction', encrypted_content: 'zzzz' }], usage: USAGE };
    expect(body(compacted)).toMatchObject({ usage: { inputTokens: 50, outputTokens: 30 }, sawOutput: false });
  });

  it('need not be asked for usage: the option is refused there', () => {
    expect(openaiResponses.askForUsage(Buffer.from('{"stream":true}'))).toEqual([]);
  });
});

describe.skipIf(cases === null)(`faults that users reported${WHERE}`, () => {
  it.each(['\n', '\r\n'])('envoyproxy/ai-gateway#2162: the event with the usage cut anywhere, lines ended by %j', (lineEnd) => {
    const { input, expected } = cases!.get('envoyproxy/ai-gateway#2162')!;
    const stream = Buffer.from(`${namedEvents(delta('output_text', '日本😀'))}${(input.response_chunks ?? []).join('')}`.replaceAll('\n', lineEnd));
    for (let cut = 0; cut <= stream.length; cut++) {
      const reading = read(stream.subarray(0, cut), stream.subarray(cut));
      expect(reading).toMatchObject({ usage: { inputTokens: expected['input_total'], outputTokens: expected['output_total'] }, complete: true, unreadable: false });
      expect(reading.output).toEqual(countsOf('日本😀'));
    }
  });

  it('BerriAI/litellm#32865: a picture in base64 is not text', () => {
    const { input, expected } = cases!.get('BerriAI/litellm#32865')!;
    const text = JSON.stringify(input.request).replace('<2.5 MB of A>', 'A'.repeat(2_500_000));
    const parsed = openaiResponses.parseRequest(Buffer.from(text));
    if (!parsed.ok) throw new Error(parsed.fault.message);
    const { tokens } = createEstimator().prompt('t', parsed.facts);
    expect(tokens).toBeLessThanOrEqual(expected['input_estimate_max']!);
    expect(tokens).toBeGreaterThanOrEqual(expected['input_estimate_min']!);
  });
});

describe.skipIf(cases === null)(`recorded responses${WHERE}`, () => {
  const files = recordings(/^openai-responses\//);
  /** Longer recordings are cut at as many places as keep this file quick. */
  const EVERY_BYTE_UP_TO = 4_000;

  it('are there', () => {
    expect(files.length).toBeGreaterThan(5);
  });

  it.each(files.map((one) => [one.file, one] as const))('%s: totals, output and end at every cut', (_, { bytes, expected, chars }) => {
    const whole = read(bytes);
    expect(totalsOf(whole)).toMatchObject(expected);
    expect(whole).toMatchObject({ complete: true, unreadable: false, sawError: false, sawOutput: chars > 0 });
    const figures = figuresOf(whole);
    const step = bytes.length <= EVERY_BYTE_UP_TO ? 1 : Math.ceil(bytes.length / 700);
    for (let cut = 0; cut <= bytes.length; cut += step) {
      if (figuresOf(read(bytes.subarray(0, cut), bytes.subarray(cut))) !== figures) expect.fail(`other figures when cut at ${cut}`);
    }
  });
});

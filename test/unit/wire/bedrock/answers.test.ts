import { EventStreamCodec } from '@smithy/eventstream-codec';
import { fromUtf8, toUtf8 } from '@smithy/util-utf8';
import { describe, expect, it } from 'vitest';
import type { ResponseReading, WireApi } from '../../../../src/domain/wire.js';
import { bedrockConverse, bedrockInvoke } from '../../../../src/wire/bedrock/bedrock.js';
import { eventStream } from '../../../support/framing.js';
import { cases, WHERE } from '../handed.js';
import { countsOf } from '../recorded.js';

const CLAUDE = bedrockInvoke('us.anthropic.claude-sonnet-4-20250514-v1:0', true);
const UNKNOWN = bedrockInvoke('arn:aws:bedrock:us-east-1:000000000000:imported-model/abc', true);
const CONVERSE = bedrockConverse('amazon.nova-pro-v1:0', true);

function whole(api: WireApi, body: unknown): ResponseReading {
  const reader = api.responseReader({ framing: 'json', hideUsage: false });
  reader.push(Buffer.from(JSON.stringify(body)));
  reader.end();
  return reader.reading;
}

function streamed(api: WireApi, bytes: Buffer): ResponseReading {
  const reader = api.responseReader({ framing: 'eventstream', hideUsage: false });
  reader.push(bytes);
  reader.end();
  return reader.reading;
}

/** Events of the model's own API, in base64 as InvokeModel streams them. */
function chunks(...events: readonly unknown[]): Buffer {
  return eventStream(events.map((event) => ({ type: 'chunk', payload: { bytes: Buffer.from(JSON.stringify(event)).toString('base64'), p: 'abc' } })));
}

function metadata(payload: object): Buffer {
  return eventStream([{ type: 'messageStop', payload: { stopReason: 'end_turn' } }, { type: 'metadata', payload }]);
}

const METRICS = 'amazon-bedrock-invocationMetrics';

describe('usage of Converse', () => {
  it('counts what came from and went to the cache as input, and knows what is kept for an hour', () => {
    const usage = {
      inputTokens: 10, outputTokens: 5, totalTokens: 175, cacheReadInputTokens: 100, cacheWriteInputTokens: 60,
      cacheDetails: [{ ttl: '1h', inputTokens: 40 }, { ttl: '5m', inputTokens: 20 }],
    };
    const expected = { inputTokens: 170, cachedInputTokens: 100, cacheWriteTokens: 60, cacheWrite1hTokens: 40, outputTokens: 5, reasoningTokens: 0 };
    expect(whole(CONVERSE, { output: {}, usage }).usage).toMatchObject(expected);
    expect(streamed(CONVERSE, metadata({ usage })).usage).toMatchObject(expected);
  });

  it('does not take what guardrails call usage, nor usage at another place', () => {
    const trace = { guardrail: { inputAssessment: { g: { invocationMetrics: { usage: { inputTokens: 900, topicPolicyUnits: 1 } } } }, usage: { inputTokens: 800 } } };
    expect(streamed(CONVERSE, metadata({ usage: { inputTokens: 3, outputTokens: 4 }, trace })).usage).toMatchObject({ inputTokens: 3, outputTokens: 4 });
    expect(streamed(CONVERSE, metadata({ trace })).usage).toBeNull();
    expect(streamed(CONVERSE, eventStream([{ type: 'contentBlockDelta', payload: { usage: { inputTokens: 7 }, delta: { text: 'a' } } }])).usage).toBeNull();
  });

  it('takes the last value of each field; null and garbage clear nothing', () => {
    const usages = [{ inputTokens: 9, outputTokens: 1 }, { inputTokens: null, outputTokens: 4 }, { inputTokens: -3, outputTokens: 'x' }, null, { outputTokens: 1e12 }];
    expect(streamed(CONVERSE, Buffer.concat(usages.map((usage) => metadata({ usage })))).usage).toMatchObject({ inputTokens: 9, outputTokens: 4 });
  });

  it('finds a missing field by the total', () => {
    expect(whole(CONVERSE, { output: {}, usage: { outputTokens: 4, totalTokens: 10 } }).usage).toMatchObject({ inputTokens: 6, outputTokens: 4 });
    expect(whole(CONVERSE, { output: {}, usage: { inputTokens: 4, totalTokens: 10 } }).usage).toMatchObject({ inputTokens: 4, outputTokens: 6 });
    expect(whole(CONVERSE, { output: {}, usage: { outputTokens: 40, totalTokens: 10 } }).usage).toMatchObject({ inputTokens: 0, outputTokens: 40 });
  });

  it('tells the model that a router chose, and the tier', () => {
    const reading = streamed(CONVERSE, metadata({ serviceTier: { type: 'flex' }, trace: { promptRouter: { invokedModelId: 'anthropic.claude-x' } } }));
    expect(reading).toMatchObject({ model: 'anthropic.claude-x', serviceTier: 'flex', complete: true });
  });
});

describe('output of Converse', () => {
  it('counts text, calls and reasoning, not what tools found nor signatures', () => {
    const deltas = [{ text: 'one ' }, { toolUse: { input: '{"a":' } }, { reasoningContent: { text: 'two ' } }, { reasoningContent: { signature: 'zzz' } }, { citation: { title: 'zzz' } }, { text: '' }];
    const events = deltas.map((delta) => ({ type: 'contentBlockDelta', payload: { delta, p: 'abc' } }));
    const reading = streamed(CONVERSE, eventStream([{ type: 'contentBlockStart', payload: { start: { toolUse: { toolUseId: 'zzz', name: 'find' } } } }, ...events]));
    expect(reading.output).toEqual(countsOf('find', 'one ', '{"a":', 'two '));
    expect(reading).toMatchObject({ outputPieces: 4, sawOutput: true, complete: false });
  });

  it('is the same in a whole body', () => {
    const content = [{ text: 'one' }, { toolUse: { toolUseId: 'zzz', name: 'find', input: { a: 1 } } }, { reasoningContent: { reasoningText: { text: 'two', signature: 'zzz' } } }, null];
    expect(whole(CONVERSE, { output: { message: { role: 'assistant', content } } }).output).toEqual(countsOf('one', 'find', '{"a":1}', 'two'));
  });

  it('an exception or an error in the stream is an error, whatever it says', () => {
    const text = (value: string) => ({ type: 'string' as const, value });
    for (const kind of ['exception', 'error']) {
      const headers = { ':message-type': text(kind), ':exception-type': text('throttlingException') };
      const bytes = new EventStreamCodec(toUtf8, fromUtf8).encode({ headers, body: fromUtf8('{"usage":{"inputTokens":5},"message":"m"}') });
      expect(streamed(CONVERSE, Buffer.from(bytes))).toMatchObject({ sawError: true, usage: null, complete: false, unreadable: false });
    }
  });

  it('is whole where it stops without figures', () => {
    const stop = eventStream([{ type: 'messageStop', payload: { stopReason: 'end_turn' } }]);
    expect(streamed(CONVERSE, stop)).toMatchObject({ complete: true, usage: null, sawError: false });
  });
});

describe('usage of InvokeModel', () => {
  const start = { type: 'message_start', message: { id: 'msg_1', model: 'claude-x', usage: { input_tokens: 5, cache_read_input_tokens: 7, output_tokens: 1 } } };

  it.skipIf(cases === null)(`maximhq/bifrost#5629: Claude's events lack the input, the metrics have it${WHERE}`, () => {
    const found = cases?.get('maximhq/bifrost#5629');
    const { bedrock_invoke_inner_json: events } = found?.input as unknown as { bedrock_invoke_inner_json: unknown[] };
    for (const api of [CLAUDE, UNKNOWN]) {
      const { usage, output } = streamed(api, chunks(...events));
      expect(usage).toMatchObject({ inputTokens: found?.expected['input_total'], outputTokens: found?.expected['output_total'], cachedInputTokens: 0 });
      expect(output).toEqual(countsOf('OK'));
    }
  });

  it('never adds the metrics to what the model told, nor lets them replace it', () => {
    const metrics = { inputTokenCount: 6, outputTokenCount: 9, cacheReadInputTokenCount: 8, cacheWriteInputTokenCount: 3 };
    const bytes = chunks(start, { type: 'message_delta', usage: { output_tokens: 20 } }, { type: 'message_stop', [METRICS]: metrics });
    for (const api of [CLAUDE, UNKNOWN]) {
      expect(streamed(api, bytes)).toMatchObject({ usage: { inputTokens: 15, cachedInputTokens: 7, cacheWriteTokens: 3, outputTokens: 20 }, complete: true });
    }
  });

  it('takes the output of the metrics where the model told a placeholder only', () => {
    const bytes = chunks(start, { type: 'message_stop', [METRICS]: { inputTokenCount: 5, outputTokenCount: 9 } });
    for (const api of [CLAUDE, UNKNOWN]) {
      expect(streamed(api, bytes).usage).toMatchObject({ inputTokens: 12, outputTokens: 9 });
      expect(streamed(api, chunks(start)).usage).toMatchObject({ inputTokens: 12, outputTokens: 0 });
    }
  });

  it.each<[string, unknown, object]>([
    ['Claude', { type: 'message', content: [{ type: 'text', text: 'a b' }], usage: { input_tokens: 3, cache_creation_input_tokens: 2, output_tokens: 4 } }, { inputTokens: 5, outputTokens: 4 }],
    ['Nova', { output: { message: { content: [{ text: 'a b' }] } }, usage: { inputTokens: 3, outputTokens: 4, cacheReadInputTokenCount: 2 } }, { inputTokens: 5, cachedInputTokens: 2, outputTokens: 4 }],
    ['Llama', { generation: 'a b', prompt_token_count: 5, generation_token_count: 4, stop_reason: 'stop' }, { inputTokens: 5, outputTokens: 4 }],
    ['Titan', { inputTextTokenCount: 5, results: [{ tokenCount: 3, outputText: 'a ' }, { tokenCount: 1, outputText: 'b' }] }, { inputTokens: 5, outputTokens: 4 }],
    ['Titan embeddings', { embedding: [0.1, 0.2], inputTextTokenCount: 5 }, { inputTokens: 5, outputTokens: 0 }],
    ['gpt-oss, DeepSeek, Qwen', { choices: [{ message: { content: 'a b' } }], usage: { prompt_tokens: 5, completion_tokens: 4, total_tokens: 9 } }, { inputTokens: 5, outputTokens: 4 }],
    ['Cohere', { text: 'a b', chat_history: [{ message: 'zzz' }], meta: { billed_units: { input_tokens: 1, output_tokens: 1 }, tokens: { input_tokens: 5, output_tokens: 4 } } }, { inputTokens: 5, outputTokens: 4 }],
  ])('reads the whole body of %s', (_name, body, expected) => {
    const reading = whole(UNKNOWN, body);
    expect(reading).toMatchObject({ usage: expected, complete: true, sawError: false });
    if (JSON.stringify(body).includes('a b')) expect(reading.output).toEqual(countsOf('a b'));
  });

  it('reads a stream of Llama, whose count runs', () => {
    const bytes = chunks(
      { generation: 'a ', prompt_token_count: 5, generation_token_count: 1 },
      { generation: 'b', prompt_token_count: null, generation_token_count: 2, [METRICS]: { inputTokenCount: 5, outputTokenCount: 2 } },
    );
    expect(streamed(UNKNOWN, bytes)).toMatchObject({ usage: { inputTokens: 5, outputTokens: 2 }, outputPieces: 2, complete: true });
  });

  it('does not take what guardrails call usage', () => {
    const part = { outputText: 'a', 'amazon-bedrock-trace': { guardrail: { usage: { inputTokens: 900 } } }, [METRICS]: { inputTokenCount: 2, outputTokenCount: 1 } };
    expect(streamed(UNKNOWN, chunks(part)).usage).toMatchObject({ inputTokens: 2, outputTokens: 1 });
  });

  it('reads on behind a chunk that cannot be read', () => {
    const bad = eventStream([{ type: 'chunk', payload: { bytes: '!!!' } }, { type: 'chunk', payload: { bytes: Buffer.from('['.repeat(5000)).toString('base64') } }]);
    const good = chunks({ type: 'message_stop', [METRICS]: { inputTokenCount: 2, outputTokenCount: 1 } });
    for (const api of [CLAUDE, UNKNOWN]) expect(streamed(api, Buffer.concat([bad, good]))).toMatchObject({ unreadable: true, usage: { inputTokens: 2, outputTokens: 1 } });
  });

  it('survives any value at any place', () => {
    for (const odd of [null, 1, 'x', [], {}, [null], { usage: 1 }]) {
      const part = { usage: odd, message: odd, output: odd, delta: odd, results: odd, choices: odd, meta: odd, metadata: odd, type: odd, [METRICS]: odd, start: odd, content: odd };
      for (const api of [CLAUDE, UNKNOWN, CONVERSE]) {
        expect(() => whole(api, part)).not.toThrow();
        expect(() => streamed(api, Buffer.concat([chunks(part), metadata(part)]))).not.toThrow();
      }
    }
  });
});

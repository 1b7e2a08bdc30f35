import Anthropic, { APIError as AnthropicError, RateLimitError as AnthropicRateLimit } from '@anthropic-ai/sdk';
import { BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand, ModelStreamErrorException, ThrottlingException } from '@aws-sdk/client-bedrock-runtime';
import { ApiError as GoogleError, GoogleGenAI } from '@google/genai';
import OpenAI, { APIError, RateLimitError } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { streamed, TOLD, whole } from '../support/answers/said.js';
import { eventStream, sseStream } from '../support/framing.js';
import type { Special } from '../support/scripted-upstream.js';
import { startSdkRig, type SdkRig } from '../support/sdk-rig.js';

const CONTENT = 'Hello there, how are you?';
const openai = ({ stack }: SdkRig) => new OpenAI({ apiKey: 'key-wide', baseURL: `${stack.url}/v1`, maxRetries: 0 });
const anthropic = ({ stack }: SdkRig) => new Anthropic({ apiKey: 'key-wide', baseURL: stack.url, maxRetries: 0 });
const google = ({ stack }: SdkRig) => new GoogleGenAI({ apiKey: 'key-wide', httpOptions: { baseUrl: stack.url } });
const bedrock = ({ stack }: SdkRig) => new BedrockRuntimeClient({ region: 'us-east-1', endpoint: stack.url, token: { token: 'key-wide' }, authSchemePreference: ['httpBearerAuth'], maxAttempts: 1 });

const claude = { model: 'claude-s', max_tokens: 40, messages: [{ role: 'user' as const, content: CONTENT }] };
const gemini = { model: 'gemini-s', contents: CONTENT };
const converse = { modelId: 'claude-s', messages: [{ role: 'user' as const, content: [{ text: CONTENT }] }] };

/** What a call was rejected with. */
const failure = (call: PromiseLike<unknown>): Promise<unknown> => Promise.resolve(call).then(() => expect.fail('the call was expected to fail'), (error: unknown) => error);

async function all<T>(stream: PromiseLike<AsyncIterable<T>>): Promise<T[]> {
  const events: T[] = [];
  for await (const event of await stream) events.push(event);
  return events;
}

describe.each(['envoy.yaml', 'envoy.duplex.yaml'])("errors of the upstream are the client's as they come, %s", (envoyConfig) => {
  let special: Special = () => null;
  let rig: SdkRig;
  beforeAll(async () => {
    rig = await startSdkRig({ envoyConfig, special: (request, path) => special(request, path) });
  });
  afterAll(async () => {
    await rig?.stop();
  });

  describe('a refusal of its own: nothing is charged', () => {
    const CASES: [name: string, body: object, call: (rig: SdkRig) => PromiseLike<unknown>, kind: new (...args: never[]) => Error][] = [
      ['OpenAI', { error: { message: 'slow down', type: 'tokens', code: 'rate_limit_exceeded', param: null } }, (at) => openai(at).responses.create({ model: 'gpt-s', input: CONTENT }), RateLimitError],
      ['Anthropic', { type: 'error', error: { type: 'rate_limit_error', message: 'slow down' } }, (at) => anthropic(at).messages.create(claude), AnthropicRateLimit],
      ['Gemini', { error: { code: 429, message: 'slow down', status: 'RESOURCE_EXHAUSTED' } }, (at) => google(at).models.generateContent(gemini), GoogleError],
      ['Bedrock', { message: 'slow down', __type: 'ThrottlingException' }, (at) => bedrock(at).send(new ConverseCommand(converse)), ThrottlingException],
    ];
    it.each(CASES)('%s', async (_name, body, call, kind) => {
      special = () => whole(body, 429);
      const { value, event } = await rig.booked(() => failure(call(rig)));
      expect(value).toBeInstanceOf(kind);
      expect((value as Error).message).toContain('slow down');
      expect(event).toMatchObject({ outcome: 'upstream_failed', inputTokens: 0, outputTokens: 0 });
    });
  });

  describe('an error in the middle of a stream reaches the client, and what passed is charged', () => {
    it('OpenAI responses', async () => {
      const failed = { id: 'resp_s', status: 'failed', error: { code: 'server_error', message: 'it broke' }, usage: { input_tokens: TOLD.input, output_tokens: 2, total_tokens: TOLD.input + 2 } };
      special = () => streamed(sseStream([
        { event: 'response.output_text.delta', data: { type: 'response.output_text.delta', sequence_number: 0, item_id: 'm', output_index: 0, content_index: 0, delta: 'Hello', logprobs: [] } },
        { event: 'response.failed', data: { type: 'response.failed', sequence_number: 1, response: failed } },
      ]));
      const { value, event } = await rig.booked(() => all(openai(rig).responses.create({ model: 'gpt-s', input: CONTENT, stream: true })));
      expect(value.map(({ type }) => type)).toEqual(['response.output_text.delta', 'response.failed']);
      expect(event).toMatchObject({ inputTokens: TOLD.input, outputTokens: 2, estimated: false });
    });

    it('OpenAI chat', async () => {
      const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt-s', choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: null }] };
      special = () => streamed(sseStream([{ data: chunk }, { data: { error: { message: 'it broke', type: 'server_error' } } }]));
      const { value, event } = await rig.booked(() => failure(all(openai(rig).chat.completions.create({ model: 'gpt-s', messages: claude.messages, stream: true }))));
      expect(value).toBeInstanceOf(APIError);
      expect(event.inputTokens).toBe(event.reservedInputTokens);
      expect([event.estimated, event.outputTokens]).toEqual([true, 1]);
    });

    it('Anthropic', async () => {
      special = () => streamed(sseStream([
        { event: 'message_start', data: { type: 'message_start', message: { id: 'm', type: 'message', role: 'assistant', model: 'claude-s', content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: TOLD.input, output_tokens: 1 } } } },
        { event: 'content_block_start', data: { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } },
        { event: 'content_block_delta', data: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello and more of it' } } },
        { event: 'error', data: { type: 'error', error: { type: 'overloaded_error', message: 'it broke' } } },
      ]));
      const { value, event } = await rig.booked(() => failure(all(anthropic(rig).messages.create({ ...claude, stream: true }))));
      expect(value).toBeInstanceOf(AnthropicError);
      expect((value as Error).message).toContain('it broke');
      expect(event).toMatchObject({ inputTokens: TOLD.input, estimated: true });
      expect(event.outputTokens).toBeGreaterThan(1);
    });

    it('Bedrock', async () => {
      special = () => streamed(eventStream([
        { type: 'messageStart', payload: { role: 'assistant' } },
        { type: 'contentBlockDelta', payload: { contentBlockIndex: 0, delta: { text: 'Hello and more of it' } } },
        { type: 'modelStreamErrorException', payload: { message: 'it broke', originalStatusCode: 500 }, exception: true },
      ]), 'application/vnd.amazon.eventstream');
      const { value, event } = await rig.booked(() => failure(bedrock(rig).send(new ConverseStreamCommand(converse)).then(({ stream }) => all(Promise.resolve(stream!)))));
      expect(value).toBeInstanceOf(ModelStreamErrorException);
      expect(event).toMatchObject({ estimated: true, inputTokens: event.reservedInputTokens });
      expect(event.outputTokens).toBeGreaterThan(1);
    });
  });
});

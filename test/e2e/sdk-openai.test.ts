import OpenAI, { type APIError, AuthenticationError, AzureOpenAI, BadRequestError, RateLimitError } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TEXT, TOLD } from '../support/answers/said.js';
import { startSdkRig, type SdkRig } from '../support/sdk-rig.js';

// Chat with limits, retries and headers is in openai-client.test.ts; here is every API of the client, and Azure's.
let rig: SdkRig;
beforeAll(async () => {
  rig = await startSdkRig();
});
afterAll(async () => {
  await rig?.stop();
});

const DEPLOYMENT = 'house-model';
const clients = {
  openai: (tenant: string) => new OpenAI({ apiKey: `key-${tenant}`, baseURL: `${rig.stack.url}/v1`, maxRetries: 0 }),
  azure: (tenant: string) => new AzureOpenAI({ apiKey: `key-${tenant}`, endpoint: rig.stack.url, apiVersion: '2024-10-21', maxRetries: 0 }),
};

const messages = [{ role: 'user' as const, content: 'Hello there, how are you?' }];
const chat = { model: DEPLOYMENT, messages, max_tokens: 40 };
const completion = { model: DEPLOYMENT, prompt: 'Once upon a time', max_tokens: 40 };
const responses = { model: DEPLOYMENT, input: 'Hello there, how are you?', max_output_tokens: 40 };
const embedding = { model: DEPLOYMENT, input: 'a text of some length, longer than ten tokens by all means of counting, '.repeat(4) };
const COUNTS = { inputTokens: TOLD.input, cachedInputTokens: TOLD.cached, outputTokens: TOLD.output, reasoningTokens: TOLD.reasoning, estimated: false, outcome: 'completed', tenantId: 'wide' };

/** The texts of a stream's events, joined. */
async function joined<T>(stream: AsyncIterable<T>, text: (event: T) => string | null | undefined): Promise<string> {
  let all = '';
  for await (const event of stream) all += text(event) ?? '';
  return all;
}

describe.each(Object.entries(clients))('the official client %s: admitted', (name, clientOf) => {
  it('chat', async () => {
    const { value, event } = await rig.booked(() => clientOf('wide').chat.completions.create(chat));
    expect([value.choices[0]!.message.content, value.usage!.total_tokens]).toEqual([TEXT, TOLD.input + TOLD.output]);
    expect(event).toMatchObject({ ...COUNTS, api: 'openai-chat', model: DEPLOYMENT });
    const path = name === 'azure' ? `/openai/deployments/${DEPLOYMENT}/chat/completions?api-version=2024-10-21` : '/v1/chat/completions';
    expect(rig.stack.upstream.requests.at(-1)!.path).toBe(path);
  });

  it('chat, streamed: booked what the client did not ask for and does not see', async () => {
    const { value, event } = await rig.booked(async () => {
      const chunks = await clientOf('wide').chat.completions.create({ ...chat, stream: true });
      return joined(chunks, ({ choices, usage }) => {
        expect(usage ?? null).toBeNull();
        return choices[0]?.delta.content;
      });
    });
    expect(value).toBe(TEXT);
    expect(event).toMatchObject({ ...COUNTS, api: 'openai-chat', model: DEPLOYMENT });
  });

  it('completions, streamed and not', async () => {
    const whole = await rig.booked(() => clientOf('wide').completions.create(completion));
    expect([whole.value.choices[0]!.text, whole.value.usage!.completion_tokens]).toEqual([TEXT, TOLD.output]);
    const streamed = await rig.booked(async () => joined(await clientOf('wide').completions.create({ ...completion, stream: true }), ({ choices }) => choices[0]?.text));
    expect(streamed.value).toBe(TEXT);
    for (const { event } of [whole, streamed]) expect(event).toMatchObject({ ...COUNTS, api: 'openai-completions', model: DEPLOYMENT });
  });

  it('responses', async () => {
    const { value, event } = await rig.booked(() => clientOf('wide').responses.create(responses));
    expect([value.output_text, value.usage!.total_tokens]).toEqual([TEXT, TOLD.input + TOLD.output]);
    expect(event).toMatchObject({ ...COUNTS, api: 'openai-responses', model: DEPLOYMENT });
  });

  it('responses, streamed: usage is told unasked, and the request goes on as it came', async () => {
    const { value, event } = await rig.booked(async () => {
      const stream = clientOf('wide').responses.stream(responses);
      const text = await joined(stream, (told) => (told.type === 'response.output_text.delta' ? told.delta : ''));
      return { text, final: await stream.finalResponse() };
    });
    expect([value.text, value.final.usage!.output_tokens]).toEqual([TEXT, TOLD.output]);
    expect(event).toMatchObject({ ...COUNTS, api: 'openai-responses', model: DEPLOYMENT });
    expect(JSON.parse(rig.stack.upstream.requests.at(-1)!.body.toString())).toEqual({ ...responses, stream: true });
  });

  it('embeddings', async () => {
    const { value, event } = await rig.booked(() => clientOf('wide').embeddings.create(embedding));
    expect(Array.from(value.data[0]!.embedding)).toEqual([0.5, -0.25, 1]);
    expect(event).toMatchObject({ ...COUNTS, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0, api: 'openai-embeddings', model: DEPLOYMENT });
  });
});

describe.each(Object.entries(clients))('the official client %s: refused', (_name, clientOf) => {
  const calls: [string, (client: OpenAI) => PromiseLike<unknown>][] = [
    ['chat', (client) => client.chat.completions.create(chat)],
    ['chat, streamed', (client) => client.chat.completions.create({ ...chat, stream: true })],
    ['completions', (client) => client.completions.create(completion)],
    ['responses', (client) => client.responses.create(responses)],
    ['responses, streamed', (client) => client.responses.create({ ...responses, stream: true })],
    ['embeddings', (client) => client.embeddings.create(embedding)],
  ];

  it.each(calls)('%s: above the limit, with the wait', async (_call, ask) => {
    rig.clock.advance(60_000);
    await rig.booked(() => clientOf('tight').chat.completions.create(chat));
    const error = (await rig.refused(() => ask(clientOf('tight')))) as APIError;
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ status: 429, code: 'rate_limit_exceeded', type: 'requests' });
    expect(error.message).toContain('tight');
    expect(error.headers!.get('retry-after')).toBe('60');
  });

  it.each(calls)('%s: a key that nobody knows', async (_call, ask) => {
    const error = await rig.refused(() => ask(clientOf('nobody')));
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error).toMatchObject({ status: 401, code: 'invalid_api_key' });
  });

  it.each(calls)('%s: more than the limit can ever hold', async (_call, ask) => {
    const error = (await rig.refused(() => ask(clientOf('tiny')))) as APIError;
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({ status: 400, code: 'request_too_large' });
    expect(error.headers!.get('retry-after')).toBeNull();
  });
});

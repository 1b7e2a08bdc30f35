import { ApiError, GoogleGenAI } from '@google/genai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TEXT, TOLD } from '../support/answers/said.js';
import { startSdkRig, type SdkRig } from '../support/sdk-rig.js';

const MODEL = 'gemini-s';
const request = { model: MODEL, contents: 'Hello there, how are you?', config: { systemInstruction: 'Be brief.', maxOutputTokens: 40 } };
const BOOKED = {
  inputTokens: TOLD.input, cachedInputTokens: TOLD.cached, outputTokens: TOLD.output, reasoningTokens: TOLD.reasoning,
  estimated: false, outcome: 'completed', tenantId: 'wide', api: 'gemini-generate-content', model: MODEL,
};

let rig: SdkRig;
beforeAll(async () => {
  rig = await startSdkRig();
});
afterAll(async () => {
  await rig?.stop();
});

const clients = {
  'Gemini API': (tenant: string) => new GoogleGenAI({ apiKey: `key-${tenant}`, httpOptions: { baseUrl: rig.stack.url } }),
  'Vertex AI': (tenant: string) => new GoogleGenAI({ vertexai: true, apiKey: `key-${tenant}`, httpOptions: { baseUrl: rig.stack.url } }),
};

/** The text of a stream, and the usage that its last piece told. */
async function streamOf(client: GoogleGenAI): Promise<{ text: string; totalTokens: number | undefined }> {
  let [text, totalTokens]: [string, number | undefined] = ['', undefined];
  for await (const piece of await client.models.generateContentStream(request)) {
    text += piece.text ?? '';
    totalTokens = piece.usageMetadata?.totalTokenCount;
  }
  return { text, totalTokens };
}

describe.each(Object.entries(clients))('the official Google client, %s', (_api, clientOf) => {
  it('generateContent', async () => {
    const { value, event } = await rig.booked(() => clientOf('wide').models.generateContent(request));
    expect([value.text, value.usageMetadata?.totalTokenCount]).toEqual([TEXT, TOLD.input + TOLD.output]);
    expect(event).toMatchObject(BOOKED);
  });

  it('generateContentStream', async () => {
    const { value, event } = await rig.booked(() => streamOf(clientOf('wide')));
    expect(value).toEqual({ text: TEXT, totalTokens: TOLD.input + TOLD.output });
    expect(event).toMatchObject(BOOKED);
    expect(rig.stack.upstream.requests.at(-1)!.path).toMatch(/:streamGenerateContent\?alt=sse$/);
  });

  it('countTokens passes, uncharged, and is seen in the metric', async () => {
    const { value, counted } = await rig.unmetered(() => clientOf('tiny').models.countTokens({ model: MODEL, contents: request.contents }));
    expect(value.totalTokens).toBe(TOLD.input);
    expect(counted).toEqual({ count_tokens: 1 });
  });

  const calls: [string, (client: GoogleGenAI) => PromiseLike<unknown>][] = [
    ['generateContent', (client) => client.models.generateContent(request)],
    ['generateContentStream', (client) => client.models.generateContentStream(request)],
  ];

  /** The SDK has one class of errors; its message is the body. */
  async function refusal(ask: (client: GoogleGenAI) => PromiseLike<unknown>, tenant: string) {
    const error = await rig.refused(() => ask(clientOf(tenant)));
    expect(error).toBeInstanceOf(ApiError);
    const { status, message } = error as ApiError;
    return { status, ...(JSON.parse(message) as { error: { code: number; status: string; message: string; details?: Record<string, unknown>[] } }) };
  }

  it.each(calls)('%s: refused above the limit, with the wait', async (_call, ask) => {
    rig.clock.advance(60_000);
    await rig.booked(() => clientOf('tight').models.generateContent(request));
    const { status, error } = await refusal(ask, 'tight');
    expect([status, error.code, error.status]).toEqual([429, 429, 'RESOURCE_EXHAUSTED']);
    expect(error.message).toContain('tight');
    expect(error.details).toContainEqual({ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '60s' });
  });

  it.each(calls)('%s: refused with a key that nobody knows', async (_call, ask) => {
    const { status, error } = await refusal(ask, 'nobody');
    expect([status, error.code, error.status]).toEqual([401, 401, 'UNAUTHENTICATED']);
  });

  it.each(calls)('%s: refused as more than the limit can ever hold', async (_call, ask) => {
    const { status, error } = await refusal(ask, 'tiny');
    expect([status, error.code, error.status]).toEqual([400, 400, 'INVALID_ARGUMENT']);
  });
});

describe('the official Google client', () => {
  it('comes again after a refusal where it is told to, and succeeds', async () => {
    await clients['Gemini API']('brisk').models.generateContent(request);
    const retrying = new GoogleGenAI({ apiKey: 'key-brisk', httpOptions: { baseUrl: rig.stack.url, retryOptions: { attempts: 5, initialDelay: 0.2 } } });
    const { value, refusals } = await rig.retried(() => retrying.models.generateContent(request));
    expect([value.text, refusals]).toEqual([TEXT, 1]);
  });

  it('embedContent: the prompt is charged by our own count, since no usage is told', async () => {
    const { value, event } = await rig.booked(() => clients['Gemini API']('wide').models.embedContent({ model: 'embed-s', contents: 'a text of some length' }));
    expect(value.embeddings?.[0]?.values).toEqual([0.5, -0.25, 1]);
    expect(event).toMatchObject({ api: 'gemini-embed-content', model: 'embed-s', estimated: true, outputTokens: 0 });
    expect(event.inputTokens).toBeGreaterThan(0);
  });
});

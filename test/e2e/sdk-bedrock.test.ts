import {
  BedrockRuntimeClient, BedrockRuntimeServiceException, ConverseCommand, ConverseStreamCommand, InvokeModelCommand, InvokeModelWithResponseStreamCommand,
  ThrottlingException, ValidationException,
} from '@aws-sdk/client-bedrock-runtime';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { TEXT, TOLD } from '../support/answers/said.js';
import { startSdkRig, type SdkRig } from '../support/sdk-rig.js';
import { isSignedRightly } from '../support/sigv4.js';

const MODEL = 'us.anthropic.claude-s-v1:0';
const ARN = 'arn:aws:bedrock:us-east-1:000000000000:application-inference-profile/abc123';
const messages = [{ role: 'user' as const, content: [{ text: 'Hello there, how are you?' }] }];
const converse = { modelId: MODEL, messages, inferenceConfig: { maxTokens: 40 } };
const body = JSON.stringify({ anthropic_version: 'bedrock-2023-05-31', max_tokens: 40, messages: [{ role: 'user', content: 'Hello there, how are you?' }] });
const invoke = { modelId: MODEL, body, contentType: 'application/json' };
const COUNTS = { inputTokens: TOLD.input, cachedInputTokens: TOLD.cached, outputTokens: TOLD.output, estimated: false, outcome: 'completed' };

/** Each of the four calls, and what it said. */
const CALLS: readonly (readonly [name: string, api: string, call: (client: BedrockRuntimeClient, modelId?: string) => Promise<string>])[] = [
  ['Converse', 'bedrock-converse', async (client, modelId = MODEL) => {
    const { output, usage } = await client.send(new ConverseCommand({ ...converse, modelId }));
    expect(usage).toMatchObject({ outputTokens: TOLD.output, totalTokens: TOLD.input + TOLD.output });
    return output?.message?.content?.[0]?.text ?? '';
  }],
  ['ConverseStream', 'bedrock-converse', async (client, modelId = MODEL) => {
    const { stream } = await client.send(new ConverseStreamCommand({ ...converse, modelId }));
    let text = '';
    let outputTokens: number | undefined;
    for await (const event of stream!) {
      text += event.contentBlockDelta?.delta?.text ?? '';
      outputTokens = event.metadata?.usage?.outputTokens ?? outputTokens;
    }
    expect(outputTokens).toBe(TOLD.output);
    return text;
  }],
  ['InvokeModel', 'bedrock-invoke', async (client, modelId = MODEL) => {
    const answer = await client.send(new InvokeModelCommand({ ...invoke, modelId }));
    return (JSON.parse(new TextDecoder().decode(answer.body)) as { content: { text: string }[] }).content[0]!.text;
  }],
  ['InvokeModelWithResponseStream', 'bedrock-invoke', async (client, modelId = MODEL) => {
    const answer = await client.send(new InvokeModelWithResponseStreamCommand({ ...invoke, modelId }));
    let text = '';
    for await (const { chunk } of answer.body!) {
      const event = JSON.parse(new TextDecoder().decode(chunk!.bytes)) as { delta?: { text?: string } };
      text += event.delta?.text ?? '';
    }
    return text;
  }],
];

const SECRET = 'wJalrXUtnFEMI-not-a-real-secret';

describe.each(['envoy.yaml', 'envoy.duplex.yaml'])('the official AWS client, %s', (envoyConfig) => {
  let rig: SdkRig;
  let unsigned: SdkRig;
  beforeAll(async () => {
    rig = await startSdkRig({ envoyConfig });
    unsigned = await startSdkRig({ envoyConfig, more: 'identity: { anonymous: wide }\n' });
  });
  afterAll(async () => {
    await rig?.stop();
    await unsigned?.stop();
  });
  const withToken = (tenant: string) =>
    new BedrockRuntimeClient({ region: 'us-east-1', endpoint: rig.stack.url, token: { token: `key-${tenant}` }, authSchemePreference: ['httpBearerAuth'], maxAttempts: 1 });
  const signing = () => new BedrockRuntimeClient({ region: 'us-east-1', endpoint: unsigned.stack.url, credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: SECRET }, maxAttempts: 1 });

  it.each(CALLS)('%s with a bearer token', async (_name, api, call) => {
    const { value, event } = await rig.booked(() => call(withToken('wide')));
    expect(value).toBe(TEXT);
    expect(event).toMatchObject({ ...COUNTS, tenantId: 'wide', api, model: MODEL });
  });

  it('a bearer token from the environment', async () => {
    vi.stubEnv('AWS_BEARER_TOKEN_BEDROCK', 'key-wide');
    const client = new BedrockRuntimeClient({ region: 'us-east-1', endpoint: rig.stack.url, maxAttempts: 1 });
    const { event } = await rig.booked(() => client.send(new ConverseCommand(converse)));
    vi.unstubAllEnvs();
    expect(event).toMatchObject({ ...COUNTS, tenantId: 'wide' });
  });

  it('signed, where no tenant is configured for requests without a key: refused', async () => {
    const client = new BedrockRuntimeClient({ region: 'us-east-1', endpoint: rig.stack.url, credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: SECRET }, maxAttempts: 1 });
    const error = await rig.refused(() => client.send(new ConverseCommand(converse)));
    expect((error as BedrockRuntimeServiceException).$metadata.httpStatusCode).toBe(403);
  });

  it('signed, with a picture of 3 MB: whole at the upstream, and not counted as text', async () => {
    const content = [{ text: 'what is this' }, { image: { format: 'png' as const, source: { bytes: Buffer.alloc(3_000_000, 7) } } }];
    const { event } = await unsigned.booked(() => signing().send(new ConverseCommand({ ...converse, messages: [{ role: 'user', content }] })));
    expect(event.reservedInputTokens).toBeLessThan(5000);
    const arrived = unsigned.stack.upstream.requests.at(-1)!;
    expect(arrived.body.length).toBeGreaterThan(4_000_000);
    expect(isSignedRightly(arrived, SECRET)).toBe(true);
  });

  it.each(CALLS)('%s with an ARN as model id', async (_name, api, call) => {
    const { value, event } = await rig.booked(() => call(withToken('wide'), ARN));
    expect(value).toBe(TEXT);
    expect(event).toMatchObject({ ...COUNTS, api, model: ARN });
  });

  describe.each([['a model id', MODEL], ['an ARN', ARN]])('signed (SigV4), %s', (_what, modelId) => {
    it.each(CALLS)('%s: counts for the configured tenant, and its signature holds at the upstream', async (_name, api, call) => {
      const { value, event } = await unsigned.booked(() => call(signing(), modelId));
      expect(value).toBe(TEXT);
      expect(event).toMatchObject({ ...COUNTS, tenantId: 'wide', api, model: modelId });
      const arrived = unsigned.stack.upstream.requests.at(-1)!;
      expect(isSignedRightly(arrived, SECRET)).toBe(true);
      expect(isSignedRightly({ ...arrived, body: Buffer.concat([arrived.body, Buffer.from(' ')]) }, SECRET)).toBe(false);
    });
  });

  it.each(CALLS)('%s: comes again by itself after the told wait, and succeeds', async (_name, _api, call) => {
    rig.clock.advance(60_000);
    await call(withToken('brisk'));
    const client = new BedrockRuntimeClient({ region: 'us-east-1', endpoint: rig.stack.url, token: { token: 'key-brisk' }, authSchemePreference: ['httpBearerAuth'] });
    expect(await rig.retried(() => call(client))).toEqual({ value: TEXT, refusals: 1 });
  });

  it.each(CALLS)('%s: refused above the limit, as throttling', async (_name, _api, call) => {
    rig.clock.advance(60_000);
    await rig.booked(() => call(withToken('tight')));
    const error = await rig.refused(() => call(withToken('tight')));
    expect(error).toBeInstanceOf(ThrottlingException);
    const { $metadata, $response, message } = error as ThrottlingException;
    expect($metadata.httpStatusCode).toBe(429);
    expect(message).toContain('tight');
    expect($response?.headers['retry-after']).toBe('60');
  });

  it.each(CALLS)('%s: refused with a token that nobody knows', async (_name, _api, call) => {
    const error = await rig.refused(() => call(withToken('nobody')));
    expect(error).toBeInstanceOf(BedrockRuntimeServiceException);
    expect((error as BedrockRuntimeServiceException).$metadata.httpStatusCode).toBe(403);
    expect((error as BedrockRuntimeServiceException).name).toMatch(/^(AccessDenied|UnrecognizedClient)Exception$/);
  });

  it.each(CALLS)('%s: refused as more than the limit can ever hold', async (_name, _api, call) => {
    const error = await rig.refused(() => call(withToken('tiny')));
    expect(error).toBeInstanceOf(ValidationException);
    expect((error as ValidationException).$metadata.httpStatusCode).toBe(400);
  });
});

import {
  AccessDeniedException, BedrockRuntimeClient, BedrockRuntimeServiceException, ConverseCommand, ConverseStreamCommand, InvokeModelCommand, InvokeModelWithResponseStreamCommand,
  ResourceNotFoundException, ServiceUnavailableException, ThrottlingException, ValidationException, type BedrockRuntimeClientConfig,
} from '@aws-sdk/client-bedrock-runtime';
import { createServer, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PlainRefusal, Refusal } from '../../../../src/domain/refusal.js';
import { bedrockRefusal } from '../../../../src/wire/bedrock/refusal.js';

const told = { scope: { kind: 'tenant' as const, id: 'acme' }, limitValue: 600, used: 590, needed: 20, requestId: 'r1', message: 'Too much.' };
const LIMITED: Refusal = { ...told, kind: 'limited', limit: 'tokens_per_minute', retryAfterMs: 1200, exact: true };
const TOO_LARGE: Refusal = { ...told, kind: 'too_large', limit: 'request_too_large' };

function plain(kind: PlainRefusal['kind']): Refusal {
  return { kind, field: null, requestId: 'r1', message: 'No.' };
}

describe('a refusal in the shape of Bedrock', () => {
  it('tells the limit, whose it is, and the wait', () => {
    const { status, headers, body } = bedrockRefusal(LIMITED);
    expect(status).toBe(429);
    expect(headers).toEqual([['content-type', 'application/json'], ['x-amzn-errortype', 'ThrottlingException'], ['retry-after', '2'], ['retry-after-ms', '1200']]);
    expect(JSON.parse(body)).toEqual({
      message: 'Too much.',
      tokenweir: { limit: 'tokens_per_minute', scope: { kind: 'tenant', id: 'acme' }, limitValue: 600, used: 590, needed: 20, retryAfterMs: 1200, retryAfterKind: 'exact', requestId: 'r1' },
    });
  });
});

describe('what the official AWS client makes of it', () => {
  let server: Http2Server;
  let settings: BedrockRuntimeClientConfig;
  let client: BedrockRuntimeClient;
  let refusal: Refusal = LIMITED;
  let calls = 0;

  beforeAll(async () => {
    server = createServer((_request, response) => {
      calls++;
      const { status, headers, body } = bedrockRefusal(refusal);
      response.writeHead(status, Object.fromEntries(headers));
      response.end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    settings = { region: 'us-east-1', endpoint: `http://127.0.0.1:${port}`, token: { token: 'k' }, authSchemePreference: ['httpBearerAuth'] };
    client = new BedrockRuntimeClient({ ...settings, maxAttempts: 1 });
  });
  afterAll(async () => {
    client.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  const messages = [{ role: 'user' as const, content: [{ text: 'Hi' }] }];
  const sends: readonly [string, () => Promise<unknown>][] = [
    ['Converse', () => client.send(new ConverseCommand({ modelId: 'm', messages }))],
    ['ConverseStream', () => client.send(new ConverseStreamCommand({ modelId: 'm', messages }))],
    ['InvokeModel', () => client.send(new InvokeModelCommand({ modelId: 'm', body: '{}' }))],
    ['InvokeModelWithResponseStream', () => client.send(new InvokeModelWithResponseStreamCommand({ modelId: 'm', body: '{}' }))],
  ];

  async function errorOf(send: () => Promise<unknown>, refused: Refusal): Promise<BedrockRuntimeServiceException> {
    refusal = refused;
    calls = 0;
    const error: unknown = await send().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(BedrockRuntimeServiceException);
    return error as BedrockRuntimeServiceException;
  }

  it.each(sends)('%s: throttling, with its message and status', async (_name, send) => {
    const error = await errorOf(send, LIMITED);
    expect(error).toBeInstanceOf(ThrottlingException);
    expect(error).toMatchObject({ message: 'Too much.', $metadata: { httpStatusCode: 429 } });
  });

  it.each([
    [TOO_LARGE, ValidationException, 400],
    [plain('bad_request'), ValidationException, 400],
    [plain('unauthenticated'), AccessDeniedException, 403],
    [plain('model_not_allowed'), AccessDeniedException, 403],
    [plain('not_metered'), AccessDeniedException, 403],
    [plain('unknown_path'), ResourceNotFoundException, 404],
    [plain('body_too_large'), ValidationException, 413],
    [plain('unsupported_encoding'), ValidationException, 415],
    [plain('store_unavailable'), ServiceUnavailableException, 503],
  ])('%j', async (refused, type, status) => {
    for (const [, send] of sends) {
      const error = await errorOf(send, refused);
      expect(error).toBeInstanceOf(type);
      expect(error.$metadata.httpStatusCode).toBe(status);
    }
  });

  it.each([TOO_LARGE, plain('unauthenticated'), plain('model_not_allowed'), plain('bad_request'), plain('body_too_large')])('is not asked again for %j', async (refused) => {
    const patient = new BedrockRuntimeClient({ ...settings, maxAttempts: 3 });
    await errorOf(() => patient.send(new ConverseCommand({ modelId: 'm', messages })), refused);
    expect(calls).toBe(1);
    patient.destroy();
  });
});

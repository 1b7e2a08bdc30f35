import Anthropic, { type APIError, AuthenticationError, BadRequestError, RateLimitError } from '@anthropic-ai/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anthropicEvents } from '../support/answers/anthropic.js';
import { member, TEXT, TOLD } from '../support/answers/said.js';
import { sseStream } from '../support/framing.js';
import type { Special } from '../support/scripted-upstream.js';
import { startSdkRig, type SdkRig } from '../support/sdk-rig.js';

const MODEL = 'claude-s';
const request = { model: MODEL, max_tokens: 40, system: 'Be brief.', messages: [{ role: 'user' as const, content: 'Hello there, how are you?' }] };
const BOOKED = {
  inputTokens: TOLD.input, cachedInputTokens: TOLD.cached, outputTokens: TOLD.output,
  estimated: false, outcome: 'completed', tenantId: 'wide', api: 'anthropic-messages', model: MODEL,
};

/** A request of the user `slow` is answered with a pause after the first words. */
const slowly: Special = ({ json }) => {
  if (member(member(json, 'metadata'), 'user_id') !== 'slow') return null;
  const events = anthropicEvents(MODEL).map((data) => sseStream([{ event: data.type, data }]));
  return { kind: 'answer', pieces: [...events.slice(0, 5), { pauseMs: 5_000 }, ...events.slice(5)] };
};

describe.each(['envoy.yaml', 'envoy.duplex.yaml'])('the official Anthropic client, %s', (envoyConfig) => {
  let rig: SdkRig;
  beforeAll(async () => {
    rig = await startSdkRig({ envoyConfig, special: slowly });
  });
  afterAll(async () => {
    await rig?.stop();
  });
  const clientOf = (tenant: string) => new Anthropic({ apiKey: `key-${tenant}`, baseURL: rig.stack.url, maxRetries: 0 });

  it('messages', async () => {
    const { value, event } = await rig.booked(() => clientOf('wide').messages.create(request));
    expect(value.content).toMatchObject([{ type: 'text', text: TEXT }]);
    expect(value.usage).toMatchObject({ output_tokens: TOLD.output, cache_read_input_tokens: TOLD.cached });
    expect(event).toMatchObject(BOOKED);
    expect(event.lines.find(({ kind }) => kind === 'cache_write_5m')?.tokens).toBe(TOLD.cacheWrite);
  });

  it('a key as bearer token', async () => {
    const client = new Anthropic({ apiKey: null, authToken: 'key-wide', baseURL: rig.stack.url, maxRetries: 0 });
    expect((await rig.booked(() => client.messages.create(request))).event).toMatchObject(BOOKED);
  });

  it('messages, streamed: nothing of the request is edited', async () => {
    const { value, event } = await rig.booked(async () => {
      const stream = clientOf('wide').messages.stream(request);
      let text = '';
      stream.on('text', (delta) => (text += delta));
      return { message: await stream.finalMessage(), text };
    });
    expect(value.text).toBe(TEXT);
    expect(value.message).toMatchObject({ content: [{ type: 'text', text: TEXT }], stop_reason: 'end_turn', usage: { output_tokens: TOLD.output } });
    expect(event).toMatchObject(BOOKED);
    expect(JSON.parse(rig.stack.upstream.requests.at(-1)!.body.toString())).toEqual({ ...request, stream: true });
  });

  it('counting tokens passes, uncharged, and is seen in the metric', async () => {
    const { messages, system, model } = request;
    const { value, counted } = await rig.unmetered(() => clientOf('tiny').messages.countTokens({ model, system, messages }));
    expect(value.input_tokens).toBe(TOLD.input);
    expect(counted).toEqual({ count_tokens: 1 });
  });

  const calls: [string, (client: Anthropic) => PromiseLike<unknown>][] = [
    ['messages', (client) => client.messages.create(request)],
    ['messages, streamed', (client) => client.messages.stream(request).finalMessage()],
  ];

  it('comes again by itself after the told wait, and succeeds', async () => {
    rig.clock.advance(60_000);
    await clientOf('brisk').messages.create(request);
    const client = new Anthropic({ apiKey: 'key-brisk', baseURL: rig.stack.url });
    const { value, refusals } = await rig.retried(() => client.messages.stream(request).finalMessage());
    expect([value.usage.output_tokens, refusals]).toEqual([TOLD.output, 1]);
  });

  it('a stream that the client leaves is charged what passed', async () => {
    const { event } = await rig.booked(async () => {
      const stream = await clientOf('wide').messages.create({ ...request, stream: true, metadata: { user_id: 'slow' } });
      for await (const { type } of stream) if (type === 'content_block_delta') stream.controller.abort();
    });
    expect(event).toMatchObject({ outcome: 'cut', estimated: true, inputTokens: TOLD.input });
    expect(event.outputTokens).toBeGreaterThan(0);
    expect(event.outputTokens).toBeLessThan(TOLD.output);
  });

  it.each(calls)('%s: refused above the limit, with the wait', async (_call, ask) => {
    rig.clock.advance(60_000);
    await rig.booked(() => clientOf('tight').messages.create(request));
    const error = (await rig.refused(() => ask(clientOf('tight')))) as APIError;
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ status: 429, type: 'rate_limit_error', error: { type: 'error', error: { type: 'rate_limit_error' }, tokenweir: { limit: 'requests_per_minute' } } });
    expect(error.message).toContain('tight');
    expect(error.headers!.get('retry-after')).toBe('60');
  });

  it.each(calls)('%s: refused with a key that nobody knows', async (_call, ask) => {
    const error = await rig.refused(() => ask(clientOf('nobody')));
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error).toMatchObject({ status: 401, type: 'authentication_error' });
  });

  it.each(calls)('%s: refused as more than the limit can ever hold', async (_call, ask) => {
    const error = (await rig.refused(() => ask(clientOf('tiny')))) as APIError;
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({ status: 400, type: 'invalid_request_error' });
    expect(error.headers!.get('retry-after')).toBeNull();
  });

  it('a body that is no request names the field', async () => {
    const error = (await rig.refused(() => clientOf('wide').messages.create({ ...request, max_tokens: -1 }))) as APIError;
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error.message).toContain('max_tokens');
  });
});

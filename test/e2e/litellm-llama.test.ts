import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { hashKey } from '../../src/config/hash-key.js';
import type { LedgerEvent } from '../../src/domain/lease.js';
import { modelCounters, modelTruth } from '../support/model-truth.js';
import { startRealServices, type RealServices } from '../support/real.js';
import { startRecorder, type Recorded, type Recorder } from '../support/recorder.js';
import { startRig, type Rig } from '../support/rig.js';

// Clients → Envoy → (recorder) → LiteLLM → (recorder) → llama.cpp with Gemma 3 270M.
let real: RealServices;
let beforeLitellm: Recorder;
let beforeModel: Recorder;

beforeAll(async () => {
  const between = async (llamaUrl: string): Promise<string> => (beforeModel = await startRecorder(llamaUrl)).url;
  real = await startRealServices({ asksForKey: false, between });
  beforeLitellm = await startRecorder(real.litellm.url);
});

afterAll(async () => {
  await beforeLitellm?.close();
  await real?.stop();
  await beforeModel?.close();
});

const YAML = `
tenants:
  - { id: acme, keys: ["${hashKey('key-acme')}"], limits: { requestsPerMinute: 600, tokensPerMinute: 100000 } }
  - { id: tight, keys: ["${hashKey('sk-virtual-tight')}"], limits: { tokensPerMinute: 60 } }
`;
/** Output cap of the stream that is cut: what was reserved for it. */
const CUT_CAP = 400;
const ask = (more: object = {}) => JSON.stringify({ model: 'gemma', max_tokens: 10, messages: [{ role: 'user', content: 'Name three colours of the rainbow.' }], ...more });

/** The client's view of a stream, as text, up to its end. */
const streamed = async (answer: Response): Promise<string> => {
  expect(answer.headers.get('content-type')).toContain('text/event-stream');
  return answer.text();
};

describe.each(['envoy.yaml', 'envoy.duplex.yaml'])('in front of the real LiteLLM and llama.cpp, %s', (envoyConfig) => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await startRig(YAML, { envoyConfig, upstreamPort: Number(new URL(beforeLitellm.url).port) });
  });
  afterAll(async () => {
    await rig?.stop();
  });

  const tenant = async (id: string) => (await rig.processor.app.status()).tenants[id]!;
  const lastEvent = async (): Promise<LedgerEvent> => (await rig.settled()).at(-1)!;
  const model = (): Recorded => beforeModel.exchanges.at(-1)!;
  const gateway = (): Recorded => beforeLitellm.exchanges.at(-1)!;

  /** The ledger's figures are the model server's own, to the token, and the bucket gave back all else. */
  async function expectExact(before: Awaited<ReturnType<typeof tenant>>): Promise<void> {
    const event = await lastEvent();
    const truth = modelTruth(model());
    expect(event).toMatchObject({ outcome: 'completed', estimated: false, inputTokens: truth.promptTokens, cachedInputTokens: truth.cachedTokens, outputTokens: truth.outputTokens });
    const after = await tenant('acme');
    expect(after.usage.inputTokens - before.usage.inputTokens).toBe(truth.promptTokens);
    expect(after.usage.outputTokens - before.usage.outputTokens).toBe(truth.outputTokens);
    expect(after.usage.requests - before.usage.requests).toBe(1);
    // Refilled meanwhile, never lower: nothing of the reservation is kept beyond what was used.
    expect(after.tokens!.remaining).toBeGreaterThanOrEqual(before.tokens!.remaining - truth.promptTokens - truth.outputTokens);
  }

  it('an answer that is not streamed: key untouched, id passed on, ledger equal to the model server', async () => {
    const before = await tenant('acme');
    const answer = await rig.post(ask());
    expect(answer.status).toBe(200);
    await answer.text();
    expect(gateway().headers.authorization).toBe('Bearer key-acme');
    expect(gateway().body).toBe(ask());
    const id = answer.headers.get('x-tokenweir-request-id');
    expect(gateway().headers['x-tokenweir-request-id']).toBe(id);
    expect(model().headers['x-tokenweir-request-id']).toBe(id);
    expect(model().headers.authorization).not.toContain('key-acme');
    await expectExact(before);
  });

  it('a stream that did not ask for usage: LiteLLM is asked, the client sees nothing of it', async () => {
    const before = await tenant('acme');
    const seen = await streamed(await rig.post(ask({ stream: true })));
    expect(JSON.parse(gateway().body)).toMatchObject({ stream_options: { include_usage: true } });
    expect(gateway().answer).toContain('"usage"');
    expect(seen).not.toContain('"usage"');
    expect(seen).toContain('data: [DONE]');
    // All else is LiteLLM's, byte for byte.
    const hidden = gateway().answer.split('\n\n').filter((event) => !event.includes('"usage"'));
    expect(seen).toBe(hidden.join('\n\n'));
    await expectExact(before);
  });

  it('a stream that asked sees LiteLLM\'s bytes, usage and all', async () => {
    const before = await tenant('acme');
    const seen = await streamed(await rig.post(ask({ stream: true, stream_options: { include_usage: true } })));
    expect(seen).toBe(gateway().answer);
    expect(seen).toContain('"usage"');
    await expectExact(before);
  });

  it.each([false, true])('completions, streamed: %s', async (stream) => {
    const before = await tenant('acme');
    const body = JSON.stringify({ model: 'gemma', prompt: 'Once upon a time', max_tokens: 8, stream });
    const answer = await fetch(`${rig.stack.url}/v1/completions`, { method: 'POST', headers: { authorization: 'Bearer key-acme', 'content-type': 'application/json' }, body });
    expect(answer.status).toBe(200);
    const seen = await answer.text();
    if (stream) expect(seen).not.toContain('"usage"');
    await expectExact(before);
  });

  it('a tenant above its tokens a minute is refused in front: LiteLLM hears nothing, the other goes on', async () => {
    const headers = { authorization: 'Bearer sk-virtual-tight' };
    const first = await rig.post(ask({ max_tokens: 20 }), headers);
    await first.text();
    expect(first.status).toBe(200);
    expect(gateway().headers.authorization).toBe('Bearer sk-virtual-tight');
    const truth = modelTruth(model());
    const event = await lastEvent();
    expect(event).toMatchObject({ tenantId: 'tight', inputTokens: truth.promptTokens, outputTokens: truth.outputTokens });
    const heard = beforeLitellm.exchanges.length;
    const second = await rig.post(ask({ max_tokens: 30 }), headers);
    expect(second.status).toBe(429);
    const told = (await second.json()) as { tokenweir: { limit: string; scope: { id: string } } };
    expect(told.tokenweir).toMatchObject({ limit: 'tokens_per_minute', scope: { id: 'tight' } });
    expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(beforeLitellm.exchanges).toHaveLength(heard);
    expect((await rig.post(ask({ max_tokens: 2 }))).status).toBe(200);
    await rig.processor.idle();
    const { usage } = await tenant('tight');
    expect(usage).toMatchObject({ requests: 1, inputTokens: truth.promptTokens, outputTokens: truth.outputTokens });
  });

  it('what LiteLLM refuses costs nothing', async () => {
    const before = await tenant('acme');
    const answer = await rig.post(ask({ model: 'nobody-knows-it' }));
    await answer.text();
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.status).toBeLessThan(500);
    expect(answer.headers.get('x-tokenweir-decision')).toBe('admitted');
    expect(await lastEvent()).toMatchObject({ outcome: 'upstream_failed', inputTokens: 0, outputTokens: 0 });
    const after = await tenant('acme');
    expect(after.tokens!.remaining).toBeGreaterThanOrEqual(before.tokens!.remaining);
    expect(after.requests!.remaining).toBeLessThanOrEqual(before.requests!.remaining);
  });

  it('the model server\'s counters over all whole answers are the sum of the ledger', async () => {
    const before = await modelCounters(real.llama.url);
    const totals = async () => Object.values((await rig.processor.app.status()).tenants).map(({ usage }) => usage);
    const sum = (all: Awaited<ReturnType<typeof totals>>) => ({
      promptTokens: all.reduce((total, { inputTokens, cachedInputTokens }) => total + inputTokens - cachedInputTokens, 0),
      outputTokens: all.reduce((total, { outputTokens }) => total + outputTokens, 0),
    });
    const booked = sum(await totals());
    for (const stream of [true, false]) await (await rig.post(ask({ stream, max_tokens: 6 }))).text();
    await rig.processor.idle();
    const after = await modelCounters(real.llama.url);
    const now = sum(await totals());
    expect({ promptTokens: now.promptTokens - booked.promptTokens, outputTokens: now.outputTokens - booked.outputTokens }).toEqual({
      promptTokens: after.promptTokens - before.promptTokens, outputTokens: after.outputTokens - before.outputTokens,
    });
  });

  it('a stream that the client leaves: charged what passed, the rest given back, the model server stops', async () => {
    const [before, made] = [await tenant('acme'), (await modelCounters(real.llama.url)).outputTokens];
    const leave = new AbortController();
    const messages = [{ role: 'user', content: 'Write a long story about a fisherman, his boat and the sea.' }];
    const answer = await rig.post(ask({ stream: true, max_tokens: CUT_CAP, temperature: 0, messages }), {}, { signal: leave.signal });
    const passed = await readDeltas(answer, 24);
    leave.abort();
    const event = await lastEvent();
    await model().over;
    // llama.cpp counts a request when its slot is free again.
    const madeHere = async (): Promise<number> => (await modelCounters(real.llama.url)).outputTokens - made;
    await vi.waitFor(async () => { expect(await madeHere()).toBeGreaterThanOrEqual(passed); }, { timeout: 60_000, interval: 100 });
    expect(model().whole).toBe(false);
    expect(await madeHere()).toBeLessThan(CUT_CAP / 2);
    expect(event).toMatchObject({ outcome: 'cut', estimated: true, reservedOutputTokens: CUT_CAP });
    // Counted from the text that passed. Measured: 18 for 24 tokens that the client read and 26 that the model made.
    expect(event.outputTokens).toBeGreaterThanOrEqual(passed * 0.6);
    expect(event.outputTokens).toBeLessThanOrEqual((await madeHere()) * 1.4);
    const after = await tenant('acme');
    expect(after.tokens!.remaining).toBeGreaterThanOrEqual(before.tokens!.remaining - event.inputTokens - event.outputTokens);
  });
});

/** Chunks with text in a recorded stream. */
function deltasIn(answer: string): number {
  return (answer.match(/"content":"(?!")/g) ?? []).length;
}

/** Reads a stream until so many chunks with text came; returns how many it were. */
async function readDeltas(answer: Response, enough: number): Promise<number> {
  const reader = answer.body!.getReader();
  let text = '';
  while (deltasIn(text) < enough) {
    const { value, done } = await reader.read();
    if (done) throw new Error('the answer ended before it could be cut');
    text += Buffer.from(value).toString();
  }
  return deltasIn(text);
}

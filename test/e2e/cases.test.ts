import { afterAll, beforeAll, describe, expect } from 'vitest';
import { hashKey } from '../../src/config/hash-key.js';
import { sse, type Piece, type Script, type ScriptedAnswer } from '../../src/upstream/script.js';
import { JSON_HEADERS } from '../support/clients.js';
import { handedCase } from '../support/handed.js';
import { HeldClock } from '../support/held-clock.js';
import { promptOf } from '../support/prompts.js';
import { startRig, type Rig } from '../support/rig.js';

type Limits = Readonly<Record<string, number>>;

const tenantYaml = (id: string, limits: Limits): string => `  - { id: ${id}, keys: ["${hashKey(`key-${id}`)}"], limits: ${JSON.stringify(limits)} }\n`;

// Each case has a tenant and a model of its own, so that none learns from another. A bucket of N tokens with a slow refill stands for "N in a long window".
const YAML = `tenants:\n${[
  tenantYaml('wso2', { tokensPerMinute: 5, burstSeconds: 3600 }),
  tenantYaml('litellm-41610', { tokensPerMinute: 100 }),
  tenantYaml('litellm-17664', { tokensPerMinute: 1000 }),
  tenantYaml('higress', { tokensPerMinute: 1000 }),
  tenantYaml('posthog-45116', { tokensPerMinute: 10_000 }),
  tenantYaml('aibrix', { tokensPerMinute: 5000 }),
  tenantYaml('tenant-a', { tokensPerMinute: 1000 }),
  tenantYaml('tenant-b', { tokensPerMinute: 1000 }),
  tenantYaml('litellm-21312', { requestsPerMinute: 20 }),
  tenantYaml('rpm', { requestsPerMinute: 1 }),
  tenantYaml('tpm', { tokensPerMinute: 100 }),
  tenantYaml('places', { concurrency: 1 }),
  tenantYaml('litellm-27748', { requestsPerMinute: 100, tokensPerMinute: 10_000 }),
  tenantYaml('openai-1108', { tokensPerMinute: 60, burstSeconds: 3600 }),
].join('')}`;

const usageJson = (input: number, output: number): object => ({ prompt_tokens: input, completion_tokens: output, total_tokens: input + output });

/** An upstream that says little and tells this usage, streamed or not, as it was asked. */
function tells(input: number, output: number): Script {
  return ({ json }) => {
    const usage = usageJson(input, output);
    if ((json as { stream?: boolean } | undefined)?.stream === true) {
      const said = sse({ object: 'text_completion', choices: [{ index: 0, text: 'ok', finish_reason: 'stop' }] });
      return { kind: 'answer', pieces: [said, sse({ object: 'text_completion', choices: [], usage }), sse('[DONE]')] };
    }
    return { kind: 'answer', headers: { 'content-type': 'application/json' }, pieces: [JSON.stringify({ choices: [{ index: 0, text: 'ok' }], usage })] };
  };
}

const fails = (status: number): ScriptedAnswer => ({ kind: 'answer', status, headers: { 'content-type': 'application/json' }, pieces: ['{"error":{"message":"no"}}'] });

describe.each(['envoy.yaml', 'envoy.duplex.yaml'])('handed cases at one instant, %s', (envoyConfig) => {
  const clock = new HeldClock();
  let script: Script = () => null;
  let rig: Rig;
  beforeAll(async () => {
    rig = await startRig(YAML, { envoyConfig, upstream: { script: (request) => script(request) } }, undefined, clock);
  });
  afterAll(async () => {
    await rig?.stop();
  });

  const ask = async (tenant: string, more: object, headers: Record<string, string> = {}): Promise<Response> => {
    const answer = await fetch(`${rig.stack.url}/v1/completions`, {
      method: 'POST', headers: { ...JSON_HEADERS(`key-${tenant}`), ...headers }, body: JSON.stringify({ model: `m-${tenant}`, prompt: promptOf(1), max_tokens: 1, ...more }),
    });
    await answer.clone().text();
    return answer;
  };
  const statusOf = async (tenant: string) => {
    await rig.processor.idle();
    return (await rig.processor.app.status()).tenants[tenant]!;
  };
  const remaining = async (tenant: string): Promise<number> => (await statusOf(tenant)).tokens!.remaining;

  handedCase('wso2/api-platform#2932', async ({ expected }) => {
    script = tells(120, 30);
    expect((await ask('wso2', { max_tokens: 30 })).status).toBe(200);
    expect(await remaining('wso2')).toBe(expected['after_A_remaining']);
    expect((await ask('wso2', { max_tokens: 30 })).status).toBe(200);
    expect(await remaining('wso2')).toBe(expected['after_B_remaining']);
    expect((await ask('wso2', { max_tokens: 30 })).status).toBe(expected['C']);
  });

  handedCase('BerriAI/litellm#41610', async ({ expected }) => {
    const used: number[] = [];
    for (const [stream, total] of [[true, 80], [false, 15], [true, 20]] as const) {
      script = tells(1, total - 1);
      expect((await ask('litellm-41610', { stream })).status).toBe(200);
      used.push(100 - (await remaining('litellm-41610')));
    }
    expect(used).toEqual(expected['used']);
    for (const stream of [true, false]) expect((await ask('litellm-41610', { stream })).status).toBe(expected['last']);
  });

  handedCase('BerriAI/litellm#17664', async ({ expected }) => {
    script = tells(950, 1);
    expect((await ask('litellm-17664', { prompt: promptOf(950) })).status).toBe(expected['first']);
    expect(await remaining('litellm-17664')).toBe(49);
    clock.advance(30_000);
    expect((await ask('litellm-17664', { prompt: promptOf(950) })).status).toBe(expected['second']);
  });

  handedCase('higress-group/higress#2464', async ({ expected }) => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    script = () => ({ kind: 'answer', pieces: held(released) });
    const seen = rig.stack.upstream.requests.length;
    const body = JSON.stringify({ model: 'm-higress', prompt: promptOf(50), max_tokens: 150, stream: true });
    const answers = await Promise.all(Array.from({ length: 50 }, () =>
      fetch(`${rig.stack.url}/v1/completions`, { method: 'POST', headers: JSON_HEADERS('key-higress'), body })));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses.filter((status) => status === 200)).toHaveLength(expected['admitted_at_once'] as number);
    expect(statuses.filter((status) => status === 429)).toHaveLength(45);
    expect(rig.stack.upstream.requests).toHaveLength(seen + 5);
    const { leases, tenants } = await rig.processor.app.status();
    expect([leases, tenants['higress']!.tokens!.remaining]).toEqual([5, 0]);
    release();
    await Promise.all(answers.map((answer) => answer.text()));
    expect(await remaining('higress')).toBe(1000 - 5 * 4);
  });

  handedCase('PostHog/posthog#45116', async ({ expected }) => {
    script = tells(90, 20);
    expect((await ask('posthog-45116', { prompt: promptOf(100), max_tokens: 4000, stream: true })).status).toBe(200);
    expect(await remaining('posthog-45116')).toBe(expected['remaining']);
    expect((await statusOf('posthog-45116')).usage).toMatchObject({ inputTokens: 90, outputTokens: 20 });
  });

  handedCase('vllm-project/aibrix#848', async ({ expected }) => {
    script = tells(20, 30);
    const small = { prompt: promptOf(20), max_tokens: 30 };
    const ten = await Promise.all(Array.from({ length: 10 }, () => ask('aibrix', small)));
    expect(new Set(ten.map(({ status }) => status))).toEqual(new Set([expected['first_ten']]));
    expect(5000 - (await remaining('aibrix'))).toBe(expected['used_after_ten']);
    script = tells(4600, 30);
    const large = { prompt: promptOf(4600), max_tokens: 100 };
    const refused = await ask('aibrix', large);
    expect(refused.status).toBe(429);
    clock.advance(Number(refused.headers.get('retry-after-ms')) - 1);
    expect((await ask('aibrix', large)).status).toBe(429);
    clock.advance(1);
    expect((await ask('aibrix', large)).status).toBe(200);
  });

  handedCase('PostHog/posthog#50542', async ({ input, expected }) => {
    const { request, headers } = input as { request: object; headers: Record<string, string> };
    script = tells(12, 3);
    const answer = await fetch(`${rig.stack.url}/v1/chat/completions`, {
      method: 'POST', headers: { ...JSON_HEADERS('key-tenant-a'), ...headers, 'x-tokenweir-tenant': 'tenant-b' }, body: JSON.stringify(request),
    });
    expect(answer.status).toBe(200);
    await answer.text();
    expect((await statusOf('tenant-a')).usage).toMatchObject({ requests: 1, inputTokens: 12, outputTokens: 3 });
    expect(await remaining('tenant-a')).toBe(985);
    const other = await statusOf('tenant-b');
    expect(other.usage.requests + other.usage.inputTokens + other.usage.outputTokens).toBe(expected['tenant_b_used']);
    expect(other.tokens!.remaining).toBe(1000);
  });

  handedCase('BerriAI/litellm#21312', async ({ expected }) => {
    script = () => fails(400);
    const seen = rig.stack.upstream.requests.length;
    const statuses: number[] = [];
    for (let i = 0; i < 25; i++) statuses.push((await ask('litellm-21312', {})).status);
    expect(statuses).toEqual([...Array<number>(20).fill(400), ...Array<unknown>(5).fill(expected['last_five'])]);
    expect(rig.stack.upstream.requests.length - seen).toBe(expected['upstream_calls']);
    const { usage } = await statusOf('litellm-21312');
    expect(usage.inputTokens + usage.outputTokens).toBe(expected['tokens_charged']);
  });

  handedCase('BerriAI/litellm#27823', async () => {
    script = tells(1, 99);
    expect((await ask('rpm', {})).status).toBe(200);
    clock.advance(200);
    const rpm = await ask('rpm', {});
    // A continuous bucket: 59.8 s, rounded up.
    expect([rpm.status, rpm.headers.get('retry-after'), rpm.headers.get('retry-after-ms')]).toEqual([429, '60', '59800']);
    expect((await ask('tpm', {})).status).toBe(200);
    const tpm = await ask('tpm', {});
    let release = (): void => undefined;
    script = () => ({ kind: 'answer', pieces: held(new Promise<void>((resolve) => (release = resolve))) });
    const holder = await fetch(`${rig.stack.url}/v1/completions`, { method: 'POST', headers: JSON_HEADERS('key-places'), body: '{"model":"m","prompt":"a","stream":true}' });
    const places = await ask('places', {});
    release();
    await holder.text();
    for (const answer of [rpm, tpm, places]) {
      expect(answer.status).toBe(429);
      expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    }
  });

  handedCase('BerriAI/litellm#27748', async ({ expected }) => {
    script = tells(3, 2);
    const answer = await ask('litellm-27748', { stream: true, max_tokens: 40, prompt: promptOf(10) });
    expect(answer.headers.get('content-type')).toContain('text/event-stream');
    const told = (name: string): string | null => answer.headers.get(`x-ratelimit-${name}`);
    expect([told('limit-requests'), told('remaining-requests')]).toEqual(['100', String(expected['remaining_requests'])]);
    expect([told('limit-tokens'), told('remaining-tokens')]).toEqual(['10000', String(10_000 - 50)]);
    for (const kind of ['requests', 'tokens']) expect(told(`reset-${kind}`)).toMatch(/^\d+s$/);
  });

  // No budgets yet: the same wait from a bucket that refills slowly. That the official client obeys is in openai-client.test.ts.
  handedCase('openai/openai-node#1108', async ({ expected }) => {
    script = tells(1, 3599);
    expect((await ask('openai-1108', { max_tokens: 3599 })).status).toBe(200);
    expect(await remaining('openai-1108')).toBe(0);
    for (let i = 0; i < 3; i++) {
      const refused = await ask('openai-1108', { max_tokens: 2999 });
      expect([refused.status, refused.headers.get('x-should-retry')]).toEqual([expected['status'], expected['x-should-retry']]);
      expect(refused.headers.get('retry-after')).toBe('3000');
    }
    expect(await remaining('openai-1108')).toBe(0);
  });
});

/** A stream that begins, and goes on when it is let go; tells 3 + 1 tokens. */
async function* held(released: Promise<void>): AsyncGenerator<Piece> {
  yield sse({ object: 'text_completion', choices: [{ index: 0, text: 'a', finish_reason: null }] });
  await released;
  yield sse({ object: 'text_completion', choices: [], usage: usageJson(3, 1) });
  yield sse('[DONE]');
}

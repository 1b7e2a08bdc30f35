import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { PoolPolicy } from '../../../src/domain/policy.js';
import type { Reply } from '../../../src/extproc/protocol.js';
import { bucketSpecsOf } from '../../../src/quota/charges.js';
import { createMemoryStore } from '../../../src/stores/memory.js';
import { BUFFERED, DUPLEX, EnvoyDouble, editsOf } from '../../support/envoy-double.js';
import { harness, limit, policyOf, settled, tenant, type Harness } from '../../support/harness.js';
import { entitlement, FACTORS, poolPolicy, poolSettings, ScriptedPools } from '../../support/scripted-pools.js';

const KEY = { authorization: 'Bearer key-acme' };
const LIMITS = [limit('tokens', 1, { capacity: 100_000_000 }), limit('concurrency', 100_000)];

const chat = (more: Record<string, unknown> = {}): string => JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello there' }], max_tokens: 50, ...more });

function world(pool: Partial<PoolPolicy> = {}, scripted?: ScriptedPools): Harness {
  const pools = [poolPolicy(poolSettings('chat', { maxWaiting: 10_000 }), pool)];
  return harness(policyOf([tenant('acme', LIMITS)], { pools }), createMemoryStore({ keepEvents: true }), undefined, scripted);
}

async function send(h: Harness, modes = BUFFERED, body: string | Buffer = chat(), headers: Record<string, string> = {}): Promise<EnvoyDouble> {
  const envoy = new EnvoyDouble(h, modes);
  await envoy.requestHeaders({ ...KEY, ...headers });
  await envoy.requestBody(body);
  return envoy;
}

async function finish(envoy: EnvoyDouble): Promise<void> {
  await envoy.responseHeaders({ 'content-type': 'application/json' });
  await envoy.responseBody(JSON.stringify({ choices: [{ message: { content: 'hi' } }], usage: { prompt_tokens: 8, completion_tokens: 3 } }), true);
  await envoy.cancel();
}

const pool = async (h: Harness) => {
  const { waiting, inFlight, inUse } = (await h.pools.snapshot('chat', h.clock.nowMs()))!;
  return { waiting, inFlight, slots: inUse.slots };
};
const leases = async (h: Harness): Promise<number> => (await h.store.snapshot([], h.clock.nowMs())).leases;
const remaining = async (h: Harness) => (await h.store.snapshot(bucketSpecsOf(h.policy.tenants.get('acme')!), h.clock.nowMs())).levels.map((level) => level.remaining);
const timeouts = ({ replies }: EnvoyDouble) => replies.flatMap(({ override_message_timeout: time }: Reply) => (time ? [Number(time.seconds) * 1_000 + (time.nanos ?? 0) / 1e6] : []));

async function pass(h: Harness, ms: number, everySecond: () => Promise<unknown> = () => Promise.resolve()): Promise<void> {
  for (let passed = 0; passed < ms; passed += 100) {
    h.clock.advance(100);
    await settled();
    if (passed % 1_000 === 0) await everySecond();
  }
}

describe('a held request, as Envoy sees it', () => {
  it('gets more time once, for its whole hold and some more, where bodies are buffered', async () => {
    const h = world();
    await send(h);
    const held = await send(h);
    expect(timeouts(held)).toEqual([25_000]);
    const background = await send(h, BUFFERED, chat(), { 'x-tokenweir-work': 'background', 'x-tokenweir-max-wait-ms': '30500' });
    expect(timeouts(background)).toEqual([45_500]);
    await pass(h, 9_000);
    expect(held.replies).toHaveLength(2);
    await pass(h, 1_000);
    expect(held.answered).toBe(429);
    expect(timeouts(held)).toHaveLength(1);
  });

  it('gets no more than any filter allows, and none is asked for in duplex mode, where no timer runs', async () => {
    const h = world({ holdMs: { interactive: 3_600_000, background: 0 } });
    await send(h);
    expect(timeouts(await send(h))).toEqual([3_600_000]);
    const duplex = await send(h, DUPLEX);
    expect(timeouts(duplex)).toEqual([]);
    expect(duplex.replies).toEqual([]);
  });

  it('goes on as it came when its turn comes, and is told how long it waited', async () => {
    for (const modes of [BUFFERED, DUPLEX]) {
      const h = world();
      const first = await send(h);
      const second = await send(h, modes);
      expect(await pool(h)).toEqual({ waiting: 1, inFlight: 1, slots: 1 });
      await pass(h, 1_500);
      await finish(first);
      expect(await pool(h)).toEqual({ waiting: 0, inFlight: 1, slots: 1 });
      const forwarded = second.replies.at(-1)!;
      if (modes === BUFFERED) expect(forwarded.request_body?.response?.body_mutation).toBeUndefined();
      else expect(second.forwarded).toBe(chat());
      const [reply] = await second.responseHeaders({ 'content-type': 'application/json' });
      expect(editsOf(reply).set['x-tokenweir-wait-ms']).toBe('1500');
      await second.responseBody('{}', true);
      await second.cancel();
      expect(await pool(h)).toEqual({ waiting: 0, inFlight: 0, slots: 0 });
      expect(await leases(h)).toBe(0);
      expect(h.witness.records.at(-1)).toMatchObject({ decision: 'admitted', pool: { poolId: 'chat', waitedMs: 1_500 }, decisionMs: 0 });
      const events = await h.store.recentEvents(10);
      expect(events.map((event) => event.pool)).toEqual(['chat', 'chat']);
    }
  });

  it.each([['as it came', chat({ stream: true }), {}], ['decoded', gzipSync(chat({ stream: true })), { 'content-encoding': 'gzip' }]])(
    'keeps its body where that is to be edited (%s)',
    async (_, body, headers) => {
      const h = world();
      const first = await send(h);
      const second = await send(h, BUFFERED, body, headers);
      await expect.poll(async () => (await pool(h)).waiting).toBe(1);
      await finish(first);
      expect(JSON.parse(second.forwarded)).toMatchObject({ stream: true, stream_options: { include_usage: true }, messages: [{ content: 'hello there' }] });
    },
  );

  it('costs no more with a body of 100 kilobytes than with a short one: Envoy has it', async () => {
    setFlagsFromString('--expose-gc');
    const gc = runInNewContext('gc') as () => void;
    const memory = (): number => {
      gc();
      const { heapUsed, external } = process.memoryUsage();
      return (heapUsed + external) / 1e6;
    };
    const h = world({ holdMs: { interactive: 3_000_000, background: 0 } });
    const sessions = [await send(h)];
    /** Of five hundred held requests, in MB. */
    const cost = async (content: string): Promise<number> => {
      const before = memory();
      for (let i = 0; i < 500; i++) sessions.push(await send(h, BUFFERED, chat({ messages: [{ role: 'user', content }] })));
      return memory() - before;
    };
    await cost('warm');
    const short = await cost('short');
    // 500 bodies are 50 MB.
    expect(await cost('word '.repeat(20_000))).toBeLessThan(short + 10);
    // With what the test itself keeps of each.
    expect(short).toBeLessThan(15);
    expect((await pool(h)).waiting).toBe(1_500);
    for (const session of sessions.reverse()) session.session.close();
    await settled();
    expect(await pool(h)).toEqual({ waiting: 0, inFlight: 0, slots: 0 });
    expect(await leases(h)).toBe(0);
  }, 120_000);
});

describe('a held request ends', () => {
  it('with its client, in the same step: out of the queue, both gates refunded, nothing sent (vllm-project/vllm-ascend#10812)', async () => {
    const h = world();
    const first = await send(h);
    const before = await remaining(h);
    const held = await send(h);
    await pass(h, 700);
    const replies = held.replies.length;
    held.session.close();
    expect((await pool(h)).waiting).toBe(0);
    await settled();
    expect(await leases(h)).toBe(1);
    expect(await remaining(h)).toEqual(before);
    expect(h.witness.records.at(-1)).toMatchObject({ decision: 'passed', reason: 'client_left', usage: null, pool: { poolId: 'chat', waitedMs: 700 } });
    await finish(first);
    expect(await pool(h)).toEqual({ waiting: 0, inFlight: 0, slots: 0 });
    await pass(h, 15_000);
    expect(held.replies).toHaveLength(replies);
    expect(h.witness.records).toHaveLength(2);
    expect(h.witness.leases).toBe(0);
  });

  it('once, where its grant and its client\'s leaving come in one moment, in either order', async () => {
    for (const leavesFirst of [true, false]) {
      const pools = new ScriptedPools();
      const h = world({}, pools);
      const envoy = await send(h);
      const id = 'id-1';
      if (leavesFirst) envoy.session.close();
      pools.granted(id, 5);
      if (!leavesFirst) envoy.session.close();
      await settled();
      await pass(h, 1_000);
      expect(pools.calls.slice(0, 2)).toEqual([`ask ${id}`, `cancel ${id}`]);
      expect(pools.calls.every((call) => !call.startsWith('settle'))).toBe(true);
      expect(await leases(h)).toBe(0);
      expect(h.witness.records).toHaveLength(1);
      expect(h.witness.leases).toBe(0);
      expect(envoy.replies.every(({ request_body: body }) => !body)).toBe(true);
    }
  });

  it('where Envoy answers for itself: its 504 passes, nothing is held', async () => {
    const h = world();
    await send(h);
    const held = await send(h);
    const [reply] = await held.responseHeaders({ ':status': '504' }, true, 'stream_idle_timeout');
    expect(reply?.response_headers).toBeDefined();
    expect((await pool(h)).waiting).toBe(0);
    expect(await leases(h)).toBe(1);
  });

  it('when this processor stops: 503, to be sent again', async () => {
    const h = world();
    await send(h);
    const held = await send(h, DUPLEX);
    expect(h.admission.holds.drain()).toBe(1);
    await settled();
    expect(held.answered).toBe(503);
    expect(held.answer.headers['retry-after']).toBe('1');
    expect(h.witness.records.at(-1)).toMatchObject({ decision: 'refused', reason: 'draining' });
    expect(await leases(h)).toBe(1);
  });
});

describe('the lease of the first gate', () => {
  it('lives through a hold of a minute, and is given back whole when its processor dies in it', async () => {
    const h = world();
    await send(h);
    await send(h, BUFFERED, chat(), { 'x-tokenweir-work': 'background' });
    await pass(h, 55_000, () => h.store.reap(h.clock.nowMs()));
    expect(await leases(h)).toBe(2);
    // Dead: nobody renews any more.
    h.admission.renewals.close();
    for (let s = 1; s <= 11; s++) await h.store.reap(h.clock.nowMs() + s * 1_000);
    expect(await leases(h)).toBe(0);
    expect((await h.store.recentEvents(10)).map(({ outcome }) => outcome)).toEqual(['abandoned']);
  });
});

describe('a pool that does not answer', () => {
  it('lets the request pass unmetered where it fails, and the first gate is given back', async () => {
    const pools = new ScriptedPools();
    pools.answer = () => Promise.reject(new Error('away'));
    const h = world({}, pools);
    const before = await remaining(h);
    const envoy = await send(h);
    expect(envoy.answered).toBeNull();
    expect(envoy.replies.at(-1)?.request_body).toBeDefined();
    expect(await remaining(h)).toEqual(before);
    expect(await leases(h)).toBe(0);
    expect(pools.calls).toEqual(['ask id-1', 'cancel id-1']);
    expect(h.witness.faults).toEqual(['store']);
  });

  it('is a 503 where it says that nothing is to be let through', async () => {
    const pools = new ScriptedPools();
    pools.answer = () => ({ kind: 'unavailable' });
    const h = world({}, pools);
    const envoy = await send(h);
    expect(envoy.answered).toBe(503);
    expect(await leases(h)).toBe(0);
  });
});

describe('what the pool is asked', () => {
  it('is the estimate of what the request takes, for whom, and how long it may wait', async () => {
    const pools = new ScriptedPools();
    const asked: unknown[] = [];
    pools.answer = (ask) => {
      asked.push(ask);
      return { kind: 'dispatched', factors: FACTORS, nextAtMs: null };
    };
    const h = world({ kvBytesPerToken: () => 1_000, entitlements: new Map([['acme', entitlement('acme', { defaultWork: 'background' })]]) }, pools);
    const envoy = await send(h, BUFFERED, chat({ n: 2 }));
    await send(h, BUFFERED, chat(), { 'x-tokenweir-work': 'interactive', 'x-tokenweir-max-wait-ms': '77' });
    expect(asked).toMatchObject([
      { leaseId: 'id-1', owner: 'processor', work: 'background', maxWaitMs: 60_000, bytes: chat({ n: 2 }).length, demand: { slots: 2 }, entitlement: { id: 'acme' } },
      { work: 'interactive', maxWaitMs: 77, demand: { slots: 1 } },
    ]);
    const { demand } = asked[0] as { demand: { work: number; kvBytes: number } };
    expect(demand.kvBytes).toBeGreaterThan(100_000);
    expect(demand.work).toBeLessThan(103);
    // The truth: 3 tokens of output, and a quarter of the 8 of input.
    await finish(envoy);
    expect(pools.calls.at(-1)).toBe('settle id-1 5');
  });
});

describe('a client that leaves before its answer', () => {
  const shown = async (h: Harness) => (await h.pools.snapshot('chat', h.clock.nowMs()))!.entitlements.find(({ id }) => id === 'acme')!;

  it('has used a server all the same: what was expected is charged to its share where the answer comes in one piece, and the prompt where it streams', async () => {
    for (const [stream, least, most] of [[false, 130, 200], [true, 30, 80]] as const) {
      const h = world();
      const envoy = await send(h, BUFFERED, chat({ stream, max_tokens: 100, messages: [{ role: 'user', content: 'word '.repeat(200) }] }));
      await envoy.cancel();
      const { inFlight, virtualTime, weight } = await shown(h);
      expect(inFlight).toBe(0);
      expect(virtualTime * weight).toBeGreaterThanOrEqual(least);
      expect(virtualTime * weight).toBeLessThanOrEqual(most);
    }
  });

  it('is charged nothing where it left while it was held', async () => {
    const h = world();
    await send(h);
    const { virtualTime } = await shown(h);
    const held = await send(h);
    await held.cancel();
    expect(await shown(h)).toMatchObject({ inFlight: 1, waiting: 0, virtualTime });
  });
});

describe('a request in shadow', () => {
  it('is no stream that its pool may end', async () => {
    const scripted = new ScriptedPools();
    const asked: (boolean | undefined)[] = [];
    scripted.answer = ({ mustRun }) => {
      asked.push(mustRun);
      return { kind: 'dispatched', factors: FACTORS, nextAtMs: null };
    };
    const h = world({}, scripted);
    await send(h);
    h.policy = { ...h.policy, enforcement: 'shadow' };
    await send(h);
    expect(asked).toEqual([undefined, true]);
  });
});

describe('a queue that one tenant has filled', () => {
  it('lets in who has fewer there: the last of the other is told 429 queue_full, with what it waited, and is given all back', async () => {
    const pools = [poolPolicy(poolSettings('chat', { maxWaiting: 2 }))];
    const h = harness(policyOf([tenant('acme', LIMITS), tenant('beta')], { pools }), createMemoryStore());
    await send(h);
    const before = await remaining(h);
    const first = await send(h);
    const last = await send(h);
    h.clock.advance(500);
    const beta = await send(h, BUFFERED, chat(), { authorization: 'Bearer key-beta' });
    expect([first.answered, last.answered, beta.answered]).toEqual([null, 429, null]);
    const { headers, body } = last.answer;
    expect(headers).toMatchObject({ 'x-tokenweir-wait-ms': '500' });
    expect(body['tokenweir']).toMatchObject({ limit: 'queue_full', limitValue: 2, scope: { kind: 'pool', id: 'chat' } });
    await first.cancel();
    await pass(h, 200);
    expect(await remaining(h)).toEqual(before);
    expect(await pool(h)).toMatchObject({ waiting: 1, inFlight: 1 });
  });
});

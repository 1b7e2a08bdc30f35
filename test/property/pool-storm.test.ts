import { expect, test } from 'vitest';
import { hashKey } from '../../src/config/hash-key.js';
import type { PoolSnapshot } from '../../src/domain/pool.js';
import { BUFFERED, DUPLEX, EnvoyDouble } from '../support/envoy-double.js';
import { harness, settled, type Harness } from '../support/harness.js';
import { configOf } from '../support/processor.js';
import { Random } from './history-world.js';

/** Requests in all; `POOL_STORM=50000` for a long run. */
const REQUESTS = Number(process.env['POOL_STORM'] ?? 3_000);
const REQUESTS_A_STORM = 500;
const AT_ONCE = 60;
const TENANTS = ['gold', 'sure', 'team', 'crew', 'cheap', 'other', 'seen'];
const POOLS = ['chat', 'code', 'renamed'];

/** What is in force: the first, and what reloads bring. Pools are removed, renamed and put in another order; classes, capacity and enforcement change. */
function variants(): string[] {
  const tenants = TENANTS.map((id) => `  - { id: ${id}, keys: ["${hashKey(`key-${id}`)}"]${id === 'seen' ? ', enforcement: shadow' : ''} }\n`).join('');
  const head = `identity: { unknownKey: guest }\ntenants:\n  - { id: guest }\n${tenants}`;
  const pool = (id: string, models: string, slots: number, more = ''): string =>
    `  - { id: ${id}, kind: self-hosted, models: ["${models}"], capacity: { slots: ${slots}, kvBytes: 100MiB, tokensPerSecond: 2000 }, kvBytesPerToken: 4096, hold: { interactiveMs: 3000, backgroundMs: 6000, maxRequests: 8 }${more} }\n`;
  const entitled = (tenant: string, of: string, rest: string): string => `  - { tenant: ${tenant}, pool: ${of}, ${rest} }\n`;
  const usual = (of: string): string =>
    entitled('gold', of, 'class: guaranteed, baseline: { slots: 2 }') + entitled('sure', of, 'class: dedicated, baseline: { slots: 1, kvBytes: 20MiB }, lend: none') +
    entitled('team', of, 'class: elastic, baseline: { tokensPerSecond: 600 }, preemptible: true') + entitled('crew', of, 'class: elastic, sloMs: 500') + entitled('cheap', of, 'class: spot');
  const first = `${head}pools:\n${pool('chat', 'm*', 6)}${pool('code', 'c*', 4)}entitlements:\n${usual('chat')}${usual('code')}`;
  return [
    first,
    `${head}pools:\n${pool('code', 'c*', 8)}${pool('chat', 'm*', 3)}entitlements:\n${usual('code')}${usual('chat')}`,
    `${head}pools:\n${pool('renamed', 'm*', 6, ', reclaimMs: 0')}${pool('code', 'c*', 4)}entitlements:\n${usual('renamed')}${usual('code')}`,
    `${head}pools:\n${pool('chat', '*', 5)}entitlements:\n${entitled('gold', 'chat', 'class: spot')}${entitled('cheap', 'chat', 'class: guaranteed, baseline: { slots: 3 }')}`,
    `${head}`,
    `enforcement: shadow\n${first}`,
    `enforcement: off\n${first}`,
  ];
}

/** One request, from its headers to its end; what becomes of it is chance. */
class Visit {
  readonly #envoy: EnvoyDouble;
  #phase: 'asked' | 'forwarded' | 'streaming' | 'over' = 'asked';
  #told = 0;

  constructor(h: Harness, private readonly random: Random, private readonly stream: boolean) {
    this.#envoy = new EnvoyDouble(h, random.chance(0.5) ? BUFFERED : DUPLEX);
  }

  get over(): boolean {
    return this.#phase === 'over';
  }

  get failure() {
    return this.#envoy.failure;
  }

  async begin(): Promise<void> {
    const { random } = this;
    const key = random.chance(0.1) ? `guest-${random.whole(1, 30)}` : random.pick(TENANTS);
    const waits = random.pick(['', '', '', '0', '500', '-1', '1e9', '99999999999', '100, 200']);
    const headers = {
      authorization: `Bearer key-${key}`, ...(waits === '' ? {} : { 'x-tokenweir-max-wait-ms': waits }),
      ...(random.chance(0.3) ? { 'x-tokenweir-work': random.pick(['background', 'interactive', 'neither']) } : {}),
    };
    const body = { model: random.pick(['m1', 'm2', 'c1', 'x1']), stream: this.stream, messages: [{ role: 'user', content: 'word '.repeat(random.whole(1, 300)) }],
      ...(random.chance(0.3) ? { n: random.pick([1, 2, 5, 100]) } : {}), ...(random.chance(0.5) ? { max_tokens: random.pick([1, 100, 3_000, 2 ** 40]) } : {}) };
    await this.#envoy.requestHeaders(headers);
    if (random.chance(0.03)) return this.leave();
    await this.#envoy.requestBody(JSON.stringify(body));
  }

  /** What comes next of it, if anything does. */
  async step(): Promise<void> {
    const { random } = this;
    if (this.#envoy.answered !== null || this.#envoy.failure !== null || random.chance(0.08)) return this.leave();
    if (this.#phase === 'asked') {
      if (random.chance(0.03)) {
        await this.#envoy.responseHeaders({ ':status': random.pick(['504', '413']) }, false, 'response_timeout');
        return this.leave();
      }
      if (this.#envoy.replies.some(({ request_body: body }) => body)) this.#phase = 'forwarded';
    } else if (this.#phase === 'forwarded') await this.#respond();
    else await this.#goOn();
  }

  async leave(): Promise<void> {
    this.#phase = 'over';
    await this.#envoy.cancel();
  }

  async #respond(): Promise<void> {
    const { random } = this;
    if (random.chance(0.1)) {
      await this.#envoy.responseHeaders({ ':status': '503' }, true);
      return this.leave();
    }
    await this.#envoy.responseHeaders({ 'content-type': this.stream ? 'text/event-stream' : 'application/json' });
    this.#phase = 'streaming';
  }

  async #goOn(): Promise<void> {
    const usage = { prompt_tokens: 20, completion_tokens: ++this.#told, total_tokens: 20 + this.#told };
    if (!this.stream) {
      await this.#envoy.responseBody(JSON.stringify({ model: 'm', choices: [{ index: 0, message: { role: 'assistant', content: 'hi' } }], usage }), true);
      return this.leave();
    }
    await this.#envoy.responseBody(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'word ' } }] })}\n\n`);
    if (this.random.chance(0.7)) return;
    await this.#envoy.responseBody(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`, true);
    return this.leave();
  }
}

const snapshots = async (h: Harness): Promise<PoolSnapshot[]> =>
  (await Promise.all(POOLS.map((id) => h.pools.snapshot(id, Math.floor(h.clock.nowMs()))))).filter((one) => one !== null);

async function pass(h: Harness, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 100) {
    h.clock.advance(100);
    await settled();
  }
}

async function storm(seed: number, tally: Record<string, number>): Promise<void> {
  const random = new Random(seed);
  const configs = variants().map((yaml) => configOf(yaml).policy);
  const h = harness(configs[0]!);
  let visits: Visit[] = [];
  for (let sent = 0; sent < REQUESTS_A_STORM; ) {
    while (visits.length < AT_ONCE && sent < REQUESTS_A_STORM && random.chance(0.8)) {
      const visit = new Visit(h, random, random.chance(0.6));
      visits.push(visit);
      await visit.begin();
      sent++;
    }
    for (const visit of visits) if (random.chance(0.2)) await visit.step();
    h.clock.advance(random.pick([0, 1, 20, 150]));
    await settled();
    if (random.chance(0.02)) {
      h.policy = random.pick(configs);
      h.admission.holds.settingsChanged();
    }
    visits = visits.filter(({ over, failure }) => {
      expect(failure).toBeNull();
      return !over;
    });
  }
  if (random.chance(0.5)) h.admission.holds.drain();
  await pass(h, 2_000);
  for (const visit of visits) await visit.leave();
  await pass(h, 3_000);
  expect(h.witness.faults, `seed ${seed}`).toEqual([]);
  for (const pool of await snapshots(h)) {
    expect(pool, `seed ${seed}`).toMatchObject({ waiting: 0, waitingBytes: 0, inFlight: 0, inUse: { kvBytes: 0, slots: 0 } });
    for (const e of pool.entitlements) expect(e, `seed ${seed}`).toMatchObject({ waiting: 0, waitingWork: 0, inFlight: 0 });
  }
  const { leases, totals } = await h.store.snapshot([], h.clock.nowMs());
  expect({ leases, open: h.witness.leases, held: h.admission.holds.waiting, timers: h.clock.pending }, `seed ${seed}`).toEqual({ leases: 0, open: 0, held: 0, timers: 0 });
  const { records } = h.witness;
  for (const one of ['requests', 'inputTokens', 'outputTokens'] as const) {
    const booked = [...totals.values()].reduce((sum, total) => sum + total[one], 0);
    const recorded = records.reduce((sum, { usage }) => sum + (usage === null ? 0 : one === 'requests' ? 1 : usage[one]), 0);
    expect(booked, `${one}, seed ${seed}`).toBe(recorded);
  }
  for (const { decision, reason } of records) tally[`${decision}: ${reason ?? ''}`] = (tally[`${decision}: ${reason ?? ''}`] ?? 0) + 1;
}

test(`${REQUESTS} requests whose clients leave at any moment, while the configuration changes: nothing is left in either gate`, async () => {
  const tally: Record<string, number> = {};
  const first = Number(process.env['POOL_SEED'] ?? 1);
  for (let seed = first; seed < first + REQUESTS / REQUESTS_A_STORM; seed++) await storm(seed, tally);
  if (process.env['POOL_STORM'] !== undefined) console.log(tally);
  for (const kind of ['admitted: none', 'refused: pool_busy', 'refused: queue_timeout', 'refused: queue_full']) expect(tally[kind] ?? 0, kind).toBeGreaterThan(0);
}, 20_000 + REQUESTS * 20);

import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { LedgerEvent } from '../../src/domain/lease.js';
import type { PoolSnapshot } from '../../src/domain/pool.js';
import { systemClock } from '../../src/lib/clock.js';
import { createMemoryPools } from '../../src/stores/memory-pools.js';
import type { Piece, Script } from '../../src/upstream/script.js';
import { Random } from '../property/history-world.js';
import { chat, JSON_HEADERS, LoadClient, readAnswer } from '../support/clients.js';
import { tenantsYaml } from '../support/pool-rig.js';
import { startRig } from '../support/rig.js';

/** `POOL_STORM=3000` for a long run. */
const REQUESTS = Number(process.env['POOL_STORM'] ?? 400);
const AT_ONCE = 40;
const TENANTS = ['gold', 'team', 'crew', 'cheap'];

const pool = (id: string, slots: number): string => `  - { id: ${id}, kind: self-hosted, models: ["*"], capacity: { slots: ${slots} }, reclaimMs: 100, hold: { interactiveMs: 800, backgroundMs: 1500, maxRequests: 20 } }\n`;
const entitled = (id: string, gold: string): string => `entitlements:
  - { tenant: gold, pool: ${id}, ${gold} }
  - { tenant: team, pool: ${id}, class: elastic, preemptible: true }
  - { tenant: crew, pool: ${id}, class: elastic, sloMs: 500, work: background }
  - { tenant: cheap, pool: ${id}, class: spot }
`;
const yaml = (id: string, slots: number, gold = 'class: guaranteed, baseline: { slots: 3 }'): string => `${tenantsYaml(...TENANTS)}pools:\n${pool(id, slots)}${entitled(id, gold)}`;
const CONFIGS = [yaml('chat', 8), yaml('chat', 4), yaml('renamed', 6), yaml('chat', 8, 'class: elastic'), `${tenantsYaml(...TENANTS)}`, `enforcement: shadow\n${yaml('chat', 8)}`];

const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };

function answers(random: Random): Script {
  return ({ json }) => {
    const stream = (json as { stream?: boolean }).stream === true;
    if (random.chance(0.05)) return { kind: 'answer', status: 500, headers: { 'content-type': 'application/json' }, pieces: ['{"error":{"message":"no"}}'] };
    const end = random.chance(0.05) ? 'reset' : 'end';
    const firstByteMs = random.whole(0, 60);
    if (!stream) return { kind: 'answer', headers: { 'content-type': 'application/json' }, firstByteMs, end, pieces: [JSON.stringify({ model: 'sim-small', choices: [{ index: 0, message: { role: 'assistant', content: 'hello' } }], usage })] };
    const word = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'hello ' } }] })}\n\n`;
    const words = Array.from({ length: random.whole(1, 12) }, (): Piece[] => [word, { pauseMs: random.whole(1, 40) }]).flat();
    return { kind: 'answer', firstByteMs, end, pieces: [...words, `data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`] };
  };
}

it.each(['envoy.yaml', 'envoy.duplex.yaml'])(`${REQUESTS} requests whose clients leave at any moment, upstreams that fail, reloads: nothing is left, and the books are the upstream’s (%s)`, async (envoyConfig) => {
  const random = new Random(Number(process.env['POOL_SEED'] ?? 7));
  const pools = createMemoryPools();
  const rig = await startRig(CONFIGS[0]!, { envoyConfig, upstream: { script: answers(random) } }, undefined, undefined, pools);
  const clients = new LoadClient(rig.stack.url, Infinity);
  const tally: Record<string, number> = {};
  try {
    const one = async (): Promise<string> => {
      const waits = random.pick(['', '', '0', '200', '-5', '9999999999', '1, 2']);
      const headers = { ...JSON_HEADERS(`key-${random.pick(TENANTS)}`), ...(waits === '' ? {} : { 'x-tokenweir-max-wait-ms': waits }), 'x-tokenweir-request-id': 'spoofed', 'x-tokenweir-stage': 'back' };
      const leavesAfterMs = random.chance(0.35) ? random.whole(0, 500) : null;
      const body = chat({ stream: random.chance(0.6), ...(random.chance(0.1) && { n: 2 }) });
      const incoming = clients.open(body, headers, undefined, (sent) => {
        if (leavesAfterMs !== null) setTimeout(() => { sent.destroy(); }, leavesAfterMs);
      });
      return incoming.then(readAnswer).then(({ status }) => String(status), () => (leavesAfterMs === null ? 'cut' : 'left'));
    };
    let left = REQUESTS;
    await Promise.all(Array.from({ length: AT_ONCE }, async () => {
      while (left-- > 0) {
        const what = await one();
        tally[what] = (tally[what] ?? 0) + 1;
        if (random.chance(0.02)) rig.processor.reconfigure(random.pick(CONFIGS));
      }
    }));
    await rig.processor.idle();
    await Promise.all(rig.stack.upstream.requests.map(({ ended }) => ended));
    await delay(300);
    const snapshots = (await Promise.all(['chat', 'renamed'].map((id) => pools.snapshot(id, Math.floor(systemClock.nowMs()))))).filter((pool): pool is PoolSnapshot => pool !== null);
    for (const snapshot of snapshots) expect(snapshot).toMatchObject({ waiting: 0, waitingBytes: 0, inFlight: 0, inUse: { slots: 0, kvBytes: 0 } });
    expect((await rig.processor.app.status()).leases).toBe(0);
    expect(rig.processor.log.filter(({ msg, kind }) => msg === 'fault' && kind !== 'response_unreadable')).toEqual([]);
    // Each request that reached the upstream is in the books once; in shadow it goes there as it came.
    const { events } = (await (await fetch(`${rig.processor.adminUrl}/ledger?limit=10000`)).json()) as { events: LedgerEvent[] };
    const reached = rig.stack.upstream.requests.map(({ headers }) => String(headers['x-tokenweir-request-id'])).filter((id) => id !== 'spoofed');
    expect(new Set(reached).size).toBe(reached.length);
    expect(events).toHaveLength(new Set(events.map(({ requestId }) => requestId)).size);
    const booked = new Set(events.map(({ requestId }) => requestId));
    if (events.length < 1_000) expect(reached.filter((id) => !booked.has(id))).toEqual([]);
    for (const event of events.filter(({ outcome }) => outcome === 'completed')) expect(event).toMatchObject({ inputTokens: 11, outputTokens: 7 });
    if (process.env['POOL_STORM'] !== undefined) console.log(tally, { booked: events.length, reached: reached.length });
    for (const what of ['200', '429', 'left']) expect(tally[what] ?? 0, what).toBeGreaterThan(0);
  } finally {
    clients.close();
    await rig.stop();
  }
}, 60_000 + REQUESTS * 100);

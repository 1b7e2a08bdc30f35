import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Store } from '../../src/domain/store.js';
import { LedgerExporter, type ExporterPorts } from '../../src/ledger/exporter.js';
import { jsonLinesSink } from '../../src/ledger/json-lines.js';
import { systemClock } from '../../src/lib/clock.js';
import { createRedisStore } from '../../src/stores/redis/redis-store.js';
import { charge, event, request, used } from '../conformance/store-builders.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';

const folder = mkdtempSync(join(tmpdir(), 'tokenweir-export-'));
const clients: Redis[] = [];
let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(async () => {
  for (const client of clients) client.disconnect();
  await server.stop();
  rmSync(folder, { recursive: true });
});

function store(): Store {
  const client = new Redis(server.url, { protocol: 2 });
  clients.push(client);
  return createRedisStore({ client, time: 'server', keepEvents: true, onFault: (error) => { throw error; } });
}

/** So many requests of several tenants that begin and end. @returns their leases. */
async function serve(on: Store, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => randomUUID());
  await Promise.all(ids.map(async (id, i) => {
    const tenantId = `tenant-${i % 5}`;
    const asked = request(id, Date.now(), [charge('tokens', { tenantId, limit: 1_000_000, amount: 10 })], [], tenantId);
    await on.reserve({ ...asked, rootId: tenantId });
    await on.settle(id, used(3, 4), event(id, used(3, 4), { tenantId, settledAtMs: Date.now() }), Date.now());
  }));
  return ids;
}

const faults: unknown[] = [];
const fileOf = (owner: string): string => join(folder, `${owner}.jsonl`);
function exporter(owner: string, from: ExporterPorts['store']): LedgerExporter {
  const sink = jsonLinesSink({ file: fileOf(owner), maxBytes: 1e9, keep: 1, clock: systemClock });
  return new LedgerExporter({ store: from, sink, owner, clock: systemClock, random: Math.random, observer: { fault: (_kind, error) => { faults.push(error); } }, onExported: () => undefined });
}

interface Line { readonly key: string; readonly leaseId: string; readonly inputTokens: number }
const linesOf = (owner: string): Line[] => readFileSync(fileOf(owner), 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line) as Line);

describe('usage events over Redis (issue point 5)', () => {
  it('leave it only after a file has them; when the processor that exports dies between, another goes on, and what is double has one key', async () => {
    const [first, second] = [store(), store()];
    const before = await serve(first, 1_200);
    let alive = true;
    const lost = (): never => { throw new Error('the process is dead'); };
    // It writes, and dies before the store hears of it.
    const dying = exporter('first', {
      claimExport: async (owner, nowMs) => (alive ? first.claimExport!(owner, nowMs) : lost()),
      pendingEvents: (limit) => first.pendingEvents(limit),
      acknowledgeEvents: async () => { alive = false; lost(); },
    });
    dying.start();
    await vi.waitFor(() => { expect(alive).toBe(false); }, { timeout: 10_000 });
    const written = linesOf('first');
    expect(written.length).toBeGreaterThan(0);
    const after = await serve(second, 300);
    const heir = exporter('second', second);
    heir.start();
    await vi.waitFor(async () => { expect(await second.pendingEvents(1)).toEqual([]); }, { timeout: 30_000, interval: 200 });
    await Promise.all([dying.stop(1_000), heir.stop()]);
    const all = [...written, ...linesOf('second')];
    const keys = new Map(all.map((line) => [line.key, line]));
    expect([...keys.values()].map(({ leaseId }) => leaseId).sort()).toEqual([...before, ...after].sort());
    expect(all.length).toBe(keys.size + written.length);
    const totals = [...(await second.totalsIn(new Date().toISOString().slice(0, 7))).values()];
    expect(totals.reduce((sum, { inputTokens }) => sum + inputTokens, 0)).toBe([...keys.values()].reduce((sum, { inputTokens }) => sum + inputTokens, 0));
  });

  it('are exported by one of two at a time: none is double while both live', async () => {
    const [first, second] = [store(), store()];
    const running = [exporter('third', first), exporter('fourth', second)];
    for (const each of running) each.start();
    const served: string[] = [];
    for (let i = 0; i < 10; i++) {
      served.push(...(await serve(i % 2 === 0 ? first : second, 50)));
      await new Promise((resume) => setTimeout(resume, 200));
    }
    await vi.waitFor(async () => { expect(await first.pendingEvents(1)).toEqual([]); }, { timeout: 30_000, interval: 200 });
    await Promise.all(running.map((each) => each.stop()));
    const lines = ['third', 'fourth'].flatMap((owner) => {
      try { return linesOf(owner); } catch { return []; }
    });
    expect(lines.map(({ leaseId }) => leaseId).sort()).toEqual(served.sort());
  });
});

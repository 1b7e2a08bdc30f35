import { describe, expect, it } from 'vitest';
import { createRouter, type AdminSources } from '../../../src/admin/routes.js';
import { buildStatus } from '../../../src/admin/status.js';
import type { UsageDocument } from '../../../src/admin/usage.js';
import type { TenantTotals } from '../../../src/domain/lease.js';
import { VirtualClock } from '../../../src/lib/virtual-clock.js';
import { policy } from './policies.js';

const totals = (inputTokens: number): TenantTotals => ({ requests: 1, inputTokens, cachedInputTokens: 0, outputTokens: 1, reasoningTokens: 0 });
const EMPTY = { leases: 0, levels: [], totals: new Map() };

function router(sources: Partial<AdminSources> = {}, token: string | null = null) {
  const clock = new VirtualClock(0);
  const all: AdminSources = {
    health: () => ({ ready: true, draining: false }),
    metrics: async () => ({ contentType: 'text/plain; version=0.0.4', body: 'up 1\n' }),
    status: async () => buildStatus(policy([]), [], EMPTY),
    ...sources,
  };
  const route = createRouter(all, token, clock);
  const ask = (target: string, authorization?: string, method = 'GET') => route({ method, target, authorization });
  return { ask, clock };
}

describe('admin routes (point 8)', () => {
  it('tell readiness with its reason, and health all the while', async () => {
    const states = [
      { ready: false, draining: false, status: 503, body: 'starting\n' },
      { ready: true, draining: false, status: 200, body: 'ready\n' },
      { ready: true, draining: true, status: 503, body: 'draining\n' },
      { ready: true, draining: false, withoutStore: 'local', status: 200, body: 'ready, store away: local\n' },
      { ready: true, draining: false, withoutStore: 'open', status: 200, body: 'ready, store away: open\n' },
      { ready: true, draining: false, withoutStore: 'closed', status: 503, body: 'store away\n' },
      { ready: true, draining: false, withoutStore: 'local', storeRefusal: 'too new', status: 200, body: 'ready, store away (too new): local\n' },
      { ready: true, draining: false, withoutStore: 'closed', storeRefusal: 'too new', status: 503, body: 'store away (too new)\n' },
      { ready: true, draining: false, withoutKeeper: { pools: 1, how: 'closed' }, status: 200, body: 'ready, 1 pool(s) without a keeper: closed\n' },
      { ready: true, draining: false, withoutStore: 'closed', withoutKeeper: { pools: 1, how: 'closed' }, status: 503, body: 'store away\n' },
    ] as const;
    for (const { status, body, ...state } of states) {
      const { ask } = router({ health: () => state });
      expect(await ask('/readyz')).toMatchObject({ status, body });
      expect(await ask('/healthz')).toMatchObject({ status: 200 });
    }
  });

  it('serve metrics and status, whatever the query', async () => {
    const { ask } = router();
    expect(await ask('/metrics?x=1')).toMatchObject({ status: 200, contentType: 'text/plain; version=0.0.4', body: 'up 1\n' });
    const status = await ask('/status');
    expect(status.contentType).toContain('application/json');
    expect(JSON.parse(status.body)).toMatchObject({ leases: 0, waiting: 0, tenants: {}, pools: {} });
  });

  it('need the token for what names tenants, and leave probes open', async () => {
    const { ask } = router({ ledger: async () => [], usage: async () => new Map() }, 's3cret');
    for (const target of ['/metrics', '/status', '/ledger', '/usage']) {
      for (const wrong of [undefined, '', 'Bearer', 'Bearer s3cre', 'Bearer s3crett', 'Basic s3cret', 's3cret']) {
        expect(await ask(target, wrong)).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer' } });
      }
      expect((await ask(target, 'Bearer s3cret')).status).toBe(200);
      expect((await ask(target, 'bearer s3cret')).status).toBe(200);
    }
    expect((await ask('/healthz')).status).toBe(200);
    expect((await ask('/readyz')).status).toBe(200);
  });

  it('answer 404 to unknown paths and 405 to other methods', async () => {
    const { ask } = router();
    for (const target of ['/', '', '//status', '/status/', '/__proto__', '/ledger', '/usage']) expect((await ask(target)).status).toBe(404);
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      expect(await ask('/status', undefined, method)).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
    }
  });

  it('bound how many events the ledger shows', async () => {
    const asked: number[] = [];
    const { ask } = router({
      ledger: async (limit) => {
        asked.push(limit);
        return [];
      },
    });
    for (const query of ['', '?limit=5', '?limit=999999999', '?limit=-1', '?limit=x']) {
      expect((await ask(`/ledger${query}`)).body).toBe('{"events":[]}\n');
    }
    expect(asked).toEqual([100, 5, 1_000, 100, 100]);
  });

  it('tell nothing of an error but that there was one', async () => {
    const { ask } = router({ status: () => Promise.reject(new Error('redis://user:secret@host is away')) });
    expect(await ask('/status')).toMatchObject({ status: 500, body: 'failed\n' });
  });

  it('tell that the store is away, where it has to answer', async () => {
    const { ask } = router({ health: () => ({ ready: true, draining: false, withoutStore: 'local' }), usage: () => Promise.reject(new Error('no connection')) });
    expect(await ask('/usage')).toMatchObject({ status: 503, body: 'store away\n' });
    expect((await ask('/status')).status).toBe(200);
  });

  it('do not hang where the store does', async () => {
    const { ask, clock } = router({ status: () => new Promise(() => undefined) });
    const answer = ask('/status');
    clock.advance(5_000);
    expect((await answer).status).toBe(503);
  });

  it('tell usage by day and month of UTC, today’s by default, and refuse what no calendar has (issue point 6)', async () => {
    const asked: string[] = [];
    const { ask, clock } = router({ usage: async (period) => { asked.push(period); return new Map([['a', totals(1)]]); } });
    clock.advance(Date.UTC(2026, 10, 29, 23, 59));
    for (const target of ['/usage', '/usage?period=2026-02', '/usage?period=2024-02-29']) expect((await ask(target)).status).toBe(200);
    expect(asked).toEqual(['2026-11-29', '2026-02', '2024-02-29']);
    for (const wrong of ['2026', '2026-13', '2026-02-30', '2026-00-10', '2026-1-1', 'x', '', '2026-11-29T00', '../2026-11', '2026-11-29%0a']) {
      expect(await ask(`/usage?period=${wrong}`)).toMatchObject({ status: 400 });
    }
    expect(asked).toHaveLength(3);
    expect(JSON.parse((await ask('/usage')).body)).toEqual({ period: '2026-11-29', tenants: { a: totals(1) }, tenantsOmitted: 0 });
  });

  it('bound how many tenants usage shows, those with most tokens first; any is found by its id', async () => {
    const many = new Map(Array.from({ length: 5_000 }, (_, i) => [`t${i}`, totals(i)]));
    many.set('__proto__', totals(9_999));
    const { ask } = router({ usage: async () => many });
    const { tenants, tenantsOmitted } = JSON.parse((await ask('/usage')).body) as UsageDocument;
    expect([Object.keys(tenants).length, tenantsOmitted]).toEqual([1_000, 4_001]);
    expect(Object.keys(tenants).slice(0, 2)).toEqual(['__proto__', 't4999']);
    expect((await ask('/usage?tenant=t3')).body).toContain(`"tenants":{"t3":${JSON.stringify(totals(3))}},"tenantsOmitted":0`);
    expect((await ask('/usage?tenant=nobody')).body).toContain('"tenants":{}');
  });
});

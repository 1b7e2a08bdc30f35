import { afterEach, beforeEach, expect } from 'vitest';
import type { PoolAnswer, PoolEnd, PoolEvent, PoolSettings, PoolSnapshot, PoolStore } from '../../src/domain/pool.js';
import { ask, pool, T0, type AskParts } from './pool-builders.js';

/** Gives an empty store that goes by the callers' time. */
export type MakePools = () => Promise<PoolStore>;

/** Owners whose events are heard. */
const OWNERS = ['p1', 'p2'];

/** The store of the test that runs, what it told its owners, and calls at milliseconds after `T0`. */
export class PoolsUnderTest {
  #store: PoolStore | null = null;
  #heard: { readonly owner: string; readonly event: PoolEvent }[] = [];

  constructor(makeStore: MakePools) {
    beforeEach(async () => {
      this.#store = await makeStore();
      this.#heard = [];
      for (const owner of OWNERS) this.store.onEvent(owner, (event) => this.#heard.push({ owner, event }));
    });
    afterEach(() => this.store.close());
  }

  get store(): PoolStore {
    if (this.#store === null) throw new Error('no test runs');
    return this.#store;
  }

  async ask(leaseId: string, parts: AskParts = {}): Promise<PoolAnswer> {
    return this.store.ask(ask(leaseId, parts));
  }

  /** @returns `dispatched`, `waiting`, or why it was refused. */
  async kind(leaseId: string, parts: AskParts = {}): Promise<string> {
    const answer = await this.ask(leaseId, parts);
    return answer.kind === 'refused' ? answer.reason : answer.kind;
  }

  /** Leases that are dispatched: all that fit are. */
  async fill(ids: readonly string[], parts: AskParts = {}): Promise<void> {
    for (const id of ids) expect(await this.kind(id, parts), id).toBe('dispatched');
  }

  async queue(ids: readonly string[], parts: AskParts = {}): Promise<void> {
    for (const id of ids) expect(await this.kind(id, parts), id).toBe('waiting');
  }

  async settle(leaseId: string, work = 100, at = 0): Promise<PoolEnd> {
    return (await this.store.settle('pool', leaseId, work, T0 + at)).end;
  }

  async cancel(leaseId: string, at = 0): Promise<PoolEnd> {
    return (await this.store.cancel('pool', leaseId, T0 + at)).end;
  }

  /** `work` 0: it waits. @returns when something happens next, after `T0`. */
  async renew(ids: readonly string[], { work = 0, kvBytes = 0, at = 0, owner = 'p1' } = {}): Promise<number | null> {
    const { nextAtMs } = await this.store.renew('pool', owner, ids.map((leaseId) => ({ leaseId, work, kvBytes })), T0 + at);
    return nextAtMs === null ? null : nextAtMs - T0;
  }

  async tick(at: number, settings: PoolSettings = pool()): Promise<number | null> {
    const { nextAtMs } = await this.store.tick(settings, T0 + at);
    return nextAtMs === null ? null : nextAtMs - T0;
  }

  /** Ticks once a second, as processors do; these leases of these owners live. */
  async pass(fromMs: number, toMs: number, alive: Readonly<Record<string, readonly string[]>> = {}, work = 0): Promise<void> {
    for (let at = fromMs + 1_000; at <= toMs; at += 1_000) {
      for (const [owner, ids] of Object.entries(alive)) await this.renew(ids, { owner, at, work });
      await this.tick(at);
    }
  }

  async snapshot(at = 0): Promise<PoolSnapshot> {
    const told = await this.store.snapshot('pool', T0 + at);
    if (told === null) throw new Error('the pool is not known');
    return told;
  }

  /** What was told since this was asked last: `granted a`, `queue_timeout b`, `end c` (reclaimed), … in order. Waits until so many are there. */
  async events(count: number): Promise<string[]> {
    if (count > 0) await expect.poll(() => this.#heard.length, { interval: 1, timeout: 5_000 }).toBeGreaterThanOrEqual(count);
    else await new Promise((resolve) => setTimeout(resolve, 0));
    return this.#heard.splice(0).map(({ event }) => wordsOf(event));
  }

  /** As `events`, whole and with their owners. */
  async told(count: number): Promise<readonly { readonly owner: string; readonly event: PoolEvent }[]> {
    await expect.poll(() => this.#heard.length, { interval: 1, timeout: 5_000 }).toBeGreaterThanOrEqual(count);
    return this.#heard.splice(0);
  }
}

function wordsOf(event: PoolEvent): string {
  if (event.kind === 'granted') return `granted ${event.leaseId}`;
  return event.kind === 'refused' ? `${event.reason} ${event.leaseId}` : `end ${event.leaseId} (${event.why})`;
}

import { describe, expect, it } from 'vitest';
import { HoldQueue, type HoldOutcome } from '../../../src/admission/hold-queue.js';
import { Presence } from '../../../src/admission/presence.js';
import { Settlements } from '../../../src/admission/settlement.js';
import type { PoolAsk, PoolSettings } from '../../../src/domain/pool.js';
import { UNBOUNDED } from '../../../src/domain/pool.js';
import { VirtualClock } from '../../../src/lib/virtual-clock.js';
import { settled, Witness } from '../../support/harness.js';
import { FACTORS, poolSettings, ScriptedPools } from '../../support/scripted-pools.js';

const T0 = 1_000_000;
const ENTITLEMENT = { id: 'acme', serviceClass: 'elastic', baseline: UNBOUNDED, classWeight: 10, sloMs: 2_000, lend: 'all', preemptible: false } as const;

function world() {
  const clock = new VirtualClock(T0);
  const pools = new ScriptedPools();
  const witness = new Witness();
  const settlements = new Settlements(clock, witness);
  const configured = new Map<string, PoolSettings>([['chat', poolSettings('chat')]]);
  const holds = new HoldQueue({
    pools, clock, settlements, owner: 'processor', random: () => 0,
    settings: (id) => configured.get(id) ?? null, onFault: (error) => { witness.fault('pool', error); },
  });
  const askOf = (leaseId: string, more: Partial<PoolAsk> = {}): PoolAsk => ({
    leaseId, owner: 'processor', pool: poolSettings('chat'), entitlement: ENTITLEMENT, demand: { work: 10, kvBytes: 0, slots: 1 },
    work: 'interactive', bytes: 100, maxWaitMs: 10_000, nowMs: T0, ...more,
  });
  /** A request that waits, its client, and what becomes of it. */
  const hold = async (leaseId: string, more: Partial<PoolAsk> = {}) => {
    const presence = new Presence();
    const outcomes: HoldOutcome[] = [];
    let began = 0;
    void holds.ask(askOf(leaseId, more), { presence, began: () => { began++; } }).then((outcome) => outcomes.push(outcome));
    await settled();
    return { presence, outcomes, began: () => began };
  };
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 25) {
      clock.advance(25);
      await settled();
    }
  };
  return { clock, pools, witness, holds, configured, hold, pass, settlements, askOf };
}

const share = (id: string, output = { now: 0 }) => ({
  id, reservedOutputTokens: 100, outputSoFar: () => output.now, poolUse: (tokens: number) => ({ work: 50 + tokens, kvBytes: 7 }), ended: [] as string[],
  endStream(why: string) { this.ended.push(why); },
});

describe('a request that waits for its pool', () => {
  it('goes on with its grant, which tells how long it waited', async () => {
    const { pools, hold, holds } = world();
    const a = await hold('a');
    expect(a.began()).toBe(1);
    expect(holds.waiting).toBe(1);
    pools.granted('a', 1_234);
    pools.granted('a', 1_234);
    await settled();
    expect(a.outcomes).toEqual([{ kind: 'dispatched', waitedMs: 1_234, factors: FACTORS }]);
    expect(holds.waiting).toBe(0);
    expect(pools.calls).toEqual(['ask a']);
  });

  it('is refused by the event of its deadline, and holds nothing', async () => {
    const { pools, hold, holds } = world();
    const a = await hold('a');
    pools.emit({ kind: 'refused', poolId: 'chat', leaseId: 'a', reason: 'queue_timeout', waitedMs: 10_000, neededWaitMs: 3_000, factors: FACTORS });
    await settled();
    expect(a.outcomes).toEqual([{ kind: 'refused', reason: 'queue_timeout', waitedMs: 10_000, neededWaitMs: 3_000, factors: FACTORS }]);
    expect(holds.waiting).toBe(0);
    expect(pools.calls).toEqual(['ask a']);
  });

  it('leaves the queue in the same step as its client (vllm-project/vllm-ascend#10812)', async () => {
    const { pools, hold, holds, clock, pass } = world();
    const a = await hold('a');
    a.presence.leave();
    expect(pools.calls).toEqual(['ask a', 'cancel a']);
    expect(holds.waiting).toBe(0);
    await settled();
    expect(a.outcomes).toMatchObject([{ kind: 'left' }]);
    await pass(200);
    expect(clock.pending).toBe(0);
  });

  it('that was granted in the moment its client left ends once: the late grant is given back', async () => {
    const { pools, hold } = world();
    const a = await hold('a');
    a.presence.leave();
    pools.granted('a');
    await settled();
    expect(a.outcomes.map(({ kind }) => kind)).toEqual(['left']);
    expect(pools.calls).toEqual(['ask a', 'cancel a', 'cancel a']);
    const b = await hold('b');
    pools.granted('b');
    b.presence.leave();
    await settled();
    // Whoever asked finds the client gone, and gives its lease back.
    expect(b.outcomes.map(({ kind }) => kind)).toEqual(['dispatched']);
    expect(pools.calls.slice(3)).toEqual(['ask b']);
  });

  it('is told an event that overtook the answer to its question', async () => {
    const { pools, hold, holds } = world();
    pools.answer = ({ leaseId }) => {
      pools.granted(leaseId, 5);
      return { kind: 'waiting', factors: FACTORS, nextAtMs: null };
    };
    const a = await hold('a');
    expect(a.outcomes).toMatchObject([{ kind: 'dispatched', waitedMs: 5 }]);
    expect(a.began()).toBe(0);
    expect(holds.waiting).toBe(0);
  });

  it('whose client left while the pool was asked is taken out again', async () => {
    const { pools, hold } = world();
    let answer = (): void => undefined;
    pools.answer = () => new Promise((resolve) => { answer = () => { resolve({ kind: 'waiting', factors: FACTORS, nextAtMs: null }); }; });
    const a = await hold('a');
    a.presence.leave();
    answer();
    await settled();
    expect(a.outcomes.map(({ kind }) => kind)).toEqual(['left']);
    expect(pools.calls).toEqual(['ask a', 'cancel a']);
  });

  it('is let go five seconds after its deadline where nobody told its end', async () => {
    const { hold, pass, pools, holds } = world();
    const a = await hold('a');
    await pass(15_000);
    expect(a.outcomes).toEqual([]);
    await pass(1_025);
    expect(a.outcomes).toMatchObject([{ kind: 'refused', reason: 'queue_timeout' }]);
    expect(pools.calls).toEqual(['ask a', 'cancel a']);
    expect(holds.waiting).toBe(0);
  });

  it('goes back with all others when the processor stops, and none waits after that', async () => {
    const { hold, holds, pools } = world();
    const waiting = [await hold('a'), await hold('b')];
    expect(holds.drain()).toBe(2);
    await settled();
    const late = await hold('c');
    for (const { outcomes } of [...waiting, late]) expect(outcomes.map(({ kind }) => kind)).toEqual(['draining']);
    expect(pools.calls).toEqual(['ask a', 'ask b', 'cancel a', 'cancel b', 'ask c', 'cancel c']);
    expect(late.began()).toBe(0);
  });
});

describe('a pool that fails', () => {
  it('at the question: the fault is the asker\'s, who gives back once what may have been taken', async () => {
    const { holds, pools, askOf } = world();
    pools.answer = () => Promise.reject(new Error('away'));
    await expect(holds.ask(askOf('a'), { presence: new Presence(), began: () => undefined })).rejects.toThrow('away');
    holds.abandon('chat', 'a');
    await settled();
    expect(pools.calls).toEqual(['ask a', 'cancel a']);
  });

  it('at the end: it is told again until it takes it', async () => {
    const { holds, pools, pass, hold } = world();
    pools.answer = () => ({ kind: 'dispatched', factors: FACTORS, nextAtMs: null });
    await hold('a');
    pools.fails = true;
    holds.settle('chat', 'a', 60);
    await pass(100);
    pools.fails = false;
    await pass(500);
    expect(new Set(pools.calls)).toEqual(new Set(['ask a', 'settle a 60']));
    const calls = pools.calls.length;
    await pass(10_000);
    expect(pools.calls).toHaveLength(calls);
  });
});

describe('signs of life', () => {
  it('of all that wait and run come at most a second apart, in one call a pool, with what runs has taken', async () => {
    const { holds, pools, pass, hold } = world();
    for (let i = 0; i < 200; i++) await hold(`w${i}`);
    const output = { now: 0 };
    pools.answer = () => ({ kind: 'dispatched', factors: FACTORS, nextAtMs: null });
    await hold('r');
    holds.run(share('r', output));
    await pass(200);
    expect(pools.renewed).toEqual([{ poolId: 'chat', renewals: [{ leaseId: 'r', work: 50, kvBytes: 7 }], nowMs: T0 + 200 }]);
    output.now = 30;
    await pass(3_000);
    const times = (id: string) => pools.renewed.filter(({ renewals }) => renewals.some(({ leaseId }) => leaseId === id)).map(({ nowMs }) => nowMs);
    for (const id of ['r', 'w0', 'w199']) {
      expect(times(id).length).toBeGreaterThanOrEqual(3);
      for (const [i, atMs] of times(id).slice(1).entries()) expect(atMs - times(id)[i]!).toBeLessThanOrEqual(1_000);
    }
    expect(pools.renewed.length).toBeLessThan(12);
    expect(pools.renewed.at(-1)!.renewals.find(({ leaseId }) => leaseId === 'r') ?? { work: 80 }).toMatchObject({ work: 80 });
    expect(pools.renewed.flatMap(({ renewals }) => renewals).filter(({ leaseId }) => leaseId.startsWith('w')).every(({ work, kvBytes }) => work === 0 && kvBytes === 0)).toBe(true);
  });

  it('end with the lease', async () => {
    const { holds, pools, pass, hold, clock } = world();
    pools.answer = () => ({ kind: 'dispatched', factors: FACTORS, nextAtMs: null });
    await hold('r');
    holds.run(share('r'));
    holds.settle('chat', 'r', 1);
    await pass(500);
    expect(pools.renewed).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});

describe('what comes due by time alone', () => {
  const waits = (nextAtMs: number | null) => () => ({ kind: 'waiting', factors: FACTORS, nextAtMs }) as const;

  it('is looked after by one timer, at the time that the latest answer told, with the newest settings', async () => {
    const { pools, hold, pass, configured, clock } = world();
    pools.answer = waits(T0 + 500);
    await hold('a');
    pools.answer = waits(T0 + 300);
    await hold('b');
    const timers = clock.pending;
    for (let i = 0; i < 50; i++) await hold(`more${i}`);
    expect(clock.pending).toBe(timers);
    configured.set('chat', poolSettings('chat', { maxWaiting: 7 }));
    await pass(275);
    expect(pools.ticked).toEqual([]);
    await pass(25);
    expect(pools.ticked).toEqual([{ settings: poolSettings('chat', { maxWaiting: 7 }), nowMs: T0 + 300 }]);
    pools.nextAtMs = null;
    await pass(700);
    expect(pools.ticked).toHaveLength(1);
  });

  it('is not looked after where none of ours waits', async () => {
    const { pools, hold, pass, holds } = world();
    pools.answer = () => ({ kind: 'dispatched', factors: FACTORS, nextAtMs: T0 + 100 });
    await hold('a');
    holds.settle('chat', 'a', 1);
    await pass(1_000);
    expect(pools.ticked).toEqual([]);
  });

  it('a call that failed is made again a second later, and counted', async () => {
    const { pools, hold, pass, witness } = world();
    pools.answer = waits(T0 + 100);
    await hold('a');
    pools.fails = true;
    await pass(200);
    expect(witness.faults).toEqual(['pool']);
    await pass(800);
    pools.fails = false;
    await pass(75);
    expect(pools.ticked).toEqual([]);
    await pass(25);
    expect(pools.ticked).toHaveLength(1);
  });

  it('is looked at when the configuration changes, with the settings of old where the pool is gone from it', async () => {
    const { pools, hold, holds, configured } = world();
    await hold('a');
    configured.set('chat', poolSettings('chat', { reclaimMs: 5 }));
    holds.settingsChanged();
    await settled();
    configured.delete('chat');
    holds.settingsChanged();
    await settled();
    expect(pools.ticked.map(({ settings }) => settings.reclaimMs)).toEqual([5, 1_000]);
  });

  it('is looked at again where the configuration changed while it was looked at', async () => {
    const { pools, hold, holds, configured, pass } = world();
    await hold('a');
    holds.settingsChanged();
    configured.set('chat', poolSettings('chat', { reclaimMs: 5 }));
    holds.settingsChanged();
    await pass(50);
    expect(pools.ticked.map(({ settings }) => settings.reclaimMs)).toEqual([1_000, 5]);
  });

  it('does not go back to what it was before a reload for a request that began then', async () => {
    const { pools, hold, configured } = world();
    const asked: PoolSettings[] = [];
    pools.answer = ({ pool }) => {
      asked.push(pool);
      return { kind: 'waiting', factors: FACTORS, nextAtMs: null };
    };
    configured.set('chat', poolSettings('chat', { reclaimMs: 5 }));
    await hold('a');
    configured.delete('chat');
    await hold('b');
    expect(asked.map(({ reclaimMs }) => reclaimMs)).toEqual([5, 1_000]);
  });
});

describe('a stream that its pool wants ended', () => {
  it('is told so, also where the word came before it was on its way', async () => {
    const { pools, hold, holds } = world();
    pools.answer = () => ({ kind: 'dispatched', factors: FACTORS, nextAtMs: null });
    await hold('a');
    pools.emit({ kind: 'end_stream', poolId: 'chat', leaseId: 'a', why: 'reclaimed' });
    const running = share('a');
    holds.run(running);
    expect(running.ended).toEqual(['reclaimed']);
    pools.emit({ kind: 'end_stream', poolId: 'chat', leaseId: 'unknown', why: 'pressure' });
    pools.emit({ kind: 'end_stream', poolId: 'chat', leaseId: 'a', why: 'pressure' });
    expect(running.ended).toEqual(['reclaimed', 'pressure']);
  });
});

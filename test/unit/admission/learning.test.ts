import { describe, expect, it } from 'vitest';
import { Learning } from '../../../src/admission/learning.js';
import type { Estimator, LearnedState } from '../../../src/domain/estimate.js';
import type { Store } from '../../../src/domain/store.js';
import { createEstimator } from '../../../src/estimate/estimator.js';
import { VirtualClock } from '../../../src/lib/virtual-clock.js';
import { createMemoryStore } from '../../../src/stores/memory.js';
import { settled, Witness } from '../../support/harness.js';

const state = (key: string, observations: number): LearnedState => ({ key, observations, state: `state ${observations}` });

/** An estimator that tells what the test taught it, and keeps what it was given. */
function pupil() {
  const taught: LearnedState[] = [];
  const adopted: (readonly LearnedState[])[] = [];
  const estimator: Estimator = { ...createEstimator(), learned: () => taught.splice(0), adopt: (states) => { adopted.push(states); } };
  return { estimator, taught, adopted };
}

function world(store: Store = createMemoryStore()) {
  const clock = new VirtualClock(0);
  const witness = new Witness();
  const made = pupil();
  return { ...made, clock, witness, store, learning: new Learning({ estimator: made.estimator, store, clock, observer: witness }) };
}

describe('what was learned goes through the store (point 3)', () => {
  it('is taken up at the start, saved every half minute, and at the end', async () => {
    const w = world();
    await w.store.saveLearned([state('gemma', 5)]);
    await w.learning.start();
    expect(w.adopted).toEqual([[state('gemma', 5)]]);
    w.taught.push(state('gemma', 9));
    w.clock.advance(29_999);
    await settled();
    expect(await w.store.loadLearned()).toEqual([state('gemma', 5)]);
    w.clock.advance(1);
    await settled();
    expect(await w.store.loadLearned()).toEqual([state('gemma', 9)]);
    w.taught.push(state('llama', 1));
    await w.learning.close();
    expect(await w.store.loadLearned()).toEqual([state('gemma', 9), state('llama', 1)]);
    expect(w.clock.pending).toBe(0);
  });

  it('takes up what other processors saved', async () => {
    const w = world();
    await w.learning.start();
    await w.store.saveLearned([state('other', 3)]);
    w.clock.advance(30_000);
    await settled();
    expect(w.adopted.at(-1)).toEqual([state('other', 3)]);
    await w.learning.close();
  });

  it('a store that fails costs a fault, and what it did not take is saved with the next', async () => {
    const store = createMemoryStore();
    const save = store.saveLearned.bind(store);
    let away = true;
    store.saveLearned = (states) => (away ? Promise.reject(new Error('away')) : save(states));
    const w = world(store);
    await w.learning.start();
    w.taught.push(state('gemma', 1), state('llama', 1));
    w.clock.advance(30_000);
    await settled();
    expect(w.witness.faults).toEqual(['store']);
    away = false;
    w.taught.push(state('gemma', 2));
    w.clock.advance(30_000);
    await settled();
    expect((await w.store.loadLearned()).map(({ key, observations }) => `${key} ${observations}`).sort()).toEqual(['gemma 2', 'llama 1']);
    await w.learning.close();
  });

  it('a store that never answers holds up neither the start nor the end for more than a second', async () => {
    const store = createMemoryStore();
    store.loadLearned = () => new Promise(() => undefined);
    const w = world(store);
    let started = false;
    void w.learning.start().then(() => { started = true; });
    w.clock.advance(999);
    await settled();
    expect(started).toBe(false);
    w.clock.advance(1);
    await settled();
    expect(started).toBe(true);
    w.clock.advance(60_000);
    const closed = w.learning.close();
    await settled();
    w.clock.advance(1_000);
    await closed;
    expect(w.clock.pending).toBe(0);
  });
});

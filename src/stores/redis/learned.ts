import type { LearnedState } from '../../domain/estimate.js';
import { MAX_LEARNED_LENGTH } from '../../domain/store.js';
import type { LearnedBounds } from '../memory-learned.js';
import type { Keys } from './keys.js';
import type { Argument, RedisClient, Scripts } from './scripts.js';

/** States in one call, so that none holds up the store for long. */
const AT_ONCE = 32;

/** What was learned, by whichever processor. */
export class RedisLearned {
  constructor(
    private readonly client: RedisClient,
    private readonly scripts: Scripts,
    private readonly keys: Keys,
    private readonly bounds: LearnedBounds,
  ) {}

  async save(states: readonly LearnedState[]): Promise<void> {
    const kept = states.filter((state) => lengthOf(state) <= MAX_LEARNED_LENGTH);
    for (let i = 0; i < kept.length; i += AT_ONCE) {
      const args = kept.slice(i, i + AT_ONCE).flatMap((state): Argument[] => [state.key, state.observations, lengthOf(state), state.state]);
      await this.scripts.twLearn(...this.keys.learned(), this.bounds.maxKeys, this.bounds.maxLength, ...args);
    }
  }

  /** In the order in which they were saved. */
  async load(): Promise<readonly LearnedState[]> {
    const [statesKey, orderKey] = this.keys.learned();
    const keys = await this.client.zrange(orderKey, '0', '-1');
    const states: LearnedState[] = [];
    for (let i = 0; i < keys.length; i += AT_ONCE) {
      const some = keys.slice(i, i + AT_ONCE);
      const texts = await this.client.hmget(statesKey, ...some);
      for (const [j, key] of some.entries()) states.push(...parseState(key, texts[j] ?? null));
    }
    return states;
  }
}

/** What is there may be anything: what was not written by the `learn` script is passed over. */
function parseState(key: string, text: string | null): readonly LearnedState[] {
  const [, observations, state] = /^(\d+) \d+ ([^]*)$/.exec(text ?? '') ?? [];
  return observations === undefined || state === undefined ? [] : [{ key, observations: Number(observations), state }];
}

function lengthOf({ key, state }: LearnedState): number {
  return key.length + state.length;
}

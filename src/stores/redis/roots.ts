import { Generations } from '../generations.js';
import type { Keys, SharedKey } from './keys.js';
import type { RedisClient } from './scripts.js';

/** What this processor wrote is written again after this, in case the store lost it or somebody pruned it. */
const AGAIN_MS = 1_000;
/** Of more roots only the most recently used are looked at. */
const MAX_ROOTS = 10_000;
/** Roots that are asked at the same time. */
const AT_ONCE = 256;

type RootSet = Extract<SharedKey, 'live' | 'queued'>;

/**
 * Which roots there are: keys outside of all roots, so they are written beside the scripts and not by them. They are hints: each root is written
 * again every second while it is used. Should a processor die in the moment between its reservation and that, the root's next use brings it back.
 */
export class Roots {
  readonly #written = new Generations<number>({ entries: 50_000, ageMs: 600_000 });

  constructor(
    private readonly client: RedisClient,
    private readonly keys: Keys,
    private readonly onFault: (error: unknown) => void,
  ) {}

  /** A lease of this root begins or lives. */
  use(rootId: string, nowMs: number): void {
    this.#write(`live ${rootId}`, nowMs, () => [
      this.client.sadd(this.keys.shared('live'), rootId),
      this.client.zadd(this.keys.shared('roots'), Math.floor(nowMs), rootId),
    ]);
  }

  /** An event of this root waits for a sink. */
  queue(rootId: string, nowMs: number): void {
    this.#write(`queued ${rootId}`, nowMs, () => [this.client.sadd(this.keys.shared('queued'), rootId)]);
  }

  async in(set: RootSet): Promise<readonly string[]> {
    return this.client.smembers(this.keys.shared(set));
  }

  /** The most recently used first. */
  async latest(limit = MAX_ROOTS): Promise<readonly string[]> {
    return this.client.zrange(this.keys.shared('roots'), '0', String(limit - 1), 'REV');
  }

  /** Takes an empty root out of a set, unless it is empty no more. */
  async prune(set: RootSet, rootId: string, isEmpty: () => Promise<boolean>): Promise<void> {
    await this.client.srem(this.keys.shared(set), rootId);
    this.#written.delete(`${set} ${rootId}`);
    if (!(await isEmpty())) await this.client.sadd(this.keys.shared(set), rootId);
  }

  #write(name: string, nowMs: number, write: () => Promise<unknown>[]): void {
    const at = this.#written.get(name);
    if (at !== undefined && Math.abs(nowMs - at) < AGAIN_MS) return;
    this.#written.set(name, nowMs, nowMs);
    Promise.all(write()).catch((error: unknown) => {
      this.#written.delete(name);
      this.onFault(error);
    });
  }
}

/** Asks all roots, some at a time. */
export async function overRoots<R, T>(roots: readonly R[], ask: (root: R) => Promise<T>): Promise<T[]> {
  const answers: T[] = [];
  for (let i = 0; i < roots.length; i += AT_ONCE) answers.push(...(await Promise.all(roots.slice(i, i + AT_ONCE).map(ask))));
  return answers;
}

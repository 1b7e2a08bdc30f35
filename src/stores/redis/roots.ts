import { Generations } from '../generations.js';
import type { Keys, SharedKey } from './keys.js';
import type { Argument, RedisClient, Scripts } from './scripts.js';

/** What this processor noted is noted again after this, in case the store lost it or somebody took it out. */
const AGAIN_MS = 1_000;
/** An empty root that nobody noted for so long is taken out. Well above `AGAIN_MS`: who uses a root has noted it since. */
const UNUSED_MS = 10_000;
/** Of more roots only the most recently used are looked at. */
const MAX_ROOTS = 10_000;
const TRIM_EVERY_MS = 60_000;
const TRIMMED_AT_ONCE = 20_000;
/** Totals of a root go so long after its last use, as those of its last month do, in milliseconds; of one that is not known any more after a day. */
const TOTALS_KEPT_MS = 460 * 86_400_000;
const FORGOTTEN_KEPT_MS = 86_400_000;
/** Roots that are asked at the same time. */
const AT_ONCE = 256;

const ROOT_SETS = ['live', 'queued', 'roots'] as const satisfies readonly SharedKey[];

type RootSet = (typeof ROOT_SETS)[number];

export interface RootParts {
  readonly client: RedisClient;
  readonly scripts: Scripts;
  readonly keys: Keys;
  /** A caller's time as scripts take it. */
  readonly timeOf: (nowMs: number) => Argument;
  readonly onFault: (error: unknown) => void;
}

/**
 * Which roots there are: sets outside of all roots, so they are written beside the scripts of a root and not by them; before a root is used, and
 * again every second while it is.
 */
export class Roots {
  readonly #noted = new Generations<number>({ entries: 50_000, ageMs: 600_000 });
  /** The latest time that a caller told. */
  #latestMs = 0;
  #trimmedMs = -Infinity;

  constructor(
    private readonly parts: RootParts,
    /** So many are known at all: clients that make up keys must not fill the store with them. One that is used again is noted again. */
    private readonly kept: number,
  ) {}

  /** A lease of this root begins or lives. */
  use(rootId: string, nowMs: number): void {
    this.#note('live', rootId, nowMs);
    this.#note('roots', rootId, nowMs);
  }

  /** An event of this root waits for a sink. */
  queue(rootId: string, nowMs: number): void {
    this.#note('queued', rootId, nowMs);
  }

  /** The store lost what was noted of this root: it is noted again at its next use. */
  lost(rootId: string): void {
    for (const set of ROOT_SETS) this.#noted.delete(nameOf(set, rootId));
  }

  async in(set: RootSet): Promise<readonly string[]> {
    return this.parts.client.zrange(this.parts.keys.shared(set), '0', '-1');
  }

  /** The most recently used first. */
  async latest(limit = MAX_ROOTS): Promise<readonly string[]> {
    return this.parts.client.zrange(this.parts.keys.shared('roots'), '0', String(limit - 1), 'REV');
  }

  /** Takes roots that were found empty out of a set, unless they were used since. */
  async prune(set: RootSet, rootIds: readonly string[]): Promise<void> {
    const { scripts, keys, timeOf } = this.parts;
    for (let i = 0; i < rootIds.length; i += AT_ONCE) {
      await scripts.twPrune(keys.shared(set), timeOf(this.#latestMs), UNUSED_MS, ...rootIds.slice(i, i + AT_ONCE));
    }
  }

  /** Forgets the roots used longest ago beyond those that are kept, now and then. @returns whether it was time for that. */
  async trim(nowMs: number): Promise<boolean> {
    if (Math.abs(nowMs - this.#trimmedMs) < TRIM_EVERY_MS) return false;
    this.#trimmedMs = nowMs;
    const { client, scripts, keys, timeOf } = this.parts;
    const key = keys.shared('roots');
    await scripts.twPrune(key, timeOf(nowMs), UNUSED_MS);
    const tooMany = Math.min(TRIMMED_AT_ONCE, (await client.zcard(key)) - this.kept);
    if (tooMany <= 0) return true;
    const gone = await client.zrange(key, '0', String(tooMany - 1));
    await overRoots(gone, (rootId) => Promise.all([keys.totals(rootId), keys.recentEvents(rootId)].map((of) => client.pexpire(of, FORGOTTEN_KEPT_MS))));
    for (let i = 0; i < gone.length; i += AT_ONCE) await client.zrem(key, ...gone.slice(i, i + AT_ONCE));
    return true;
  }

  /** A time that a caller told: what `prune` goes by. */
  tick(nowMs: number): void {
    this.#latestMs = nowMs;
  }

  #note(set: RootSet, rootId: string, nowMs: number): void {
    this.tick(nowMs);
    const name = nameOf(set, rootId);
    const notedMs = this.#noted.get(name);
    if (notedMs !== undefined && Math.abs(nowMs - notedMs) < AGAIN_MS) return;
    this.#noted.set(name, nowMs, nowMs);
    const { client, scripts, keys, timeOf, onFault } = this.parts;
    // Of one that was forgotten the totals were to go.
    const told = async (): Promise<void> => {
      const isNew = (await scripts.twMark(keys.shared(set), timeOf(nowMs), rootId)) > 0;
      if (isNew && set === 'roots') await client.pexpire(keys.totals(rootId), TOTALS_KEPT_MS);
    };
    told().catch((error: unknown) => {
      this.#noted.delete(name);
      onFault(error);
    });
  }
}

function nameOf(set: RootSet, rootId: string): string {
  return `${set} ${rootId}`;
}

/** Asks all roots, some at a time. */
export async function overRoots<R, T>(roots: readonly R[], ask: (root: R) => Promise<T>): Promise<T[]> {
  const answers: T[] = [];
  for (let i = 0; i < roots.length; i += AT_ONCE) answers.push(...(await Promise.all(roots.slice(i, i + AT_ONCE).map(ask))));
  return answers;
}

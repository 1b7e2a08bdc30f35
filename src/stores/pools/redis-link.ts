import type { RedisClient } from '../connect/connect.js';
import { PoolKeys } from './keys.js';
import { CLAIM_MS } from './keeping.js';
import type { Beat, LinkListener, PoolLink, Standing } from './link.js';
import { read, write, type Batch, type Request, type Told } from './messages.js';
import { definePoolScripts, type PoolScripts } from './scripts.js';
import type { StreamReader } from './stream-reader.js';

/** A processor that told nothing for so long counts as gone, in milliseconds. */
const GONE_MS = 5_000;
/** Keys that nobody uses expire after so long: nothing depends on it. */
const KEEP_MS = 600_000;
/** Entries that a stream keeps at most; what was read is taken out long before. */
const MAX_ENTRIES = 10_000;
/** So many beats in a row that went well while reads failed, and the processor claims nothing: it would keep the pool, and hear none of the others. */
const DEAF_BEATS = 4;

export interface RedisLinkParts {
  readonly client: RedisClient;
  readonly reader: StreamReader;
  readonly keyPrefix: string;
  readonly poolId: string;
  readonly processor: string;
  /** Why the store must not be written to, in words; null: it may. */
  readonly refusal: () => string | null;
}

/** Processors and the keeper of a pool over Redis: a stream to the keeper, and one to each processor. */
export class RedisLink implements PoolLink {
  readonly #scripts: PoolScripts;
  readonly #keys: PoolKeys;
  readonly #told: string;
  #listener: LinkListener | null = null;
  #lastAsk = '0';
  #deafBeats = 0;

  constructor(private readonly parts: RedisLinkParts) {
    this.#scripts = definePoolScripts(parts.client);
    this.#keys = new PoolKeys(parts.keyPrefix, parts.poolId);
    this.#told = this.#keys.told(parts.processor);
  }

  /** Rejects also where nothing is heard: whoever keeps the pool, this processor is without it. */
  async beat({ epoch, claims, save }: Beat): Promise<Standing> {
    this.#mayWrite();
    const { processor, reader } = this.parts;
    const { claim, processors, saved, asks } = this.#keys;
    if (reader.readTo(this.#told) === null) this.#readTold();
    const [readAsks, readTold] = [reader.readTo(asks), reader.readTo(this.#told)];
    const isDeaf = this.#deafBeats >= DEAF_BEATS;
    const args = ['', processor, isDeaf ? '' : (epoch ?? ''), claims && !isDeaf ? '1' : '0', CLAIM_MS, save ?? '', GONE_MS, KEEP_MS, readAsks ?? '', readTold ?? ''];
    const [keeper = '', itsEpoch, leftMs, taken, before = '', lastAsk = '0', ...live] = await this.#scripts.twPoolBeat(claim, processors, saved, asks, this.#told, ...args);
    if (taken === '1') this.#lastAsk = lastAsk;
    this.#deafBeats = reader.isFailing && live.some((other) => other !== processor) ? this.#deafBeats + 1 : 0;
    if (isDeaf) throw new Error('this processor reaches the store and hears nobody: its connection for reading is gone');
    const standing = { epoch: Number(itsEpoch), keeper, leftMs: Number(leftMs), processors: live };
    return { ...standing, taken: taken === '1' ? { saved: before === '' ? null : before } : null };
  }

  async send(batch: Batch<Request>): Promise<void> {
    this.#mayWrite();
    await this.parts.client.xadd(this.#keys.asks, 'MAXLEN', '~', MAX_ENTRIES, '*', 'b', write(batch));
  }

  async tell(epoch: number, batches: readonly (readonly [string, Batch<Told>])[]): Promise<boolean> {
    this.#mayWrite();
    const keys = batches.map(([processor]) => this.#keys.told(processor));
    const texts = batches.map(([, batch]) => write(batch));
    return (await this.#scripts.twPoolTell(keys.length + 1, this.#keys.claim, ...keys, this.parts.processor, epoch, MAX_ENTRIES, KEEP_MS, ...texts)) === 1;
  }

  listen(listener: LinkListener): void {
    this.#listener = listener;
  }

  keep(keeps: boolean): void {
    const { reader } = this.parts;
    if (!keeps) reader.remove(this.#keys.asks);
    else reader.add(this.#keys.asks, this.#lastAsk, (text) => { this.#hear(text, (batch: Batch<Request>) => this.#listener?.asked(batch)); }, (error) => { this.#faulty(error); });
  }

  async leave(claim: Parameters<PoolLink['leave']>[0]): Promise<void> {
    this.parts.reader.remove(this.#told);
    this.parts.reader.remove(this.#keys.asks);
    this.#mayWrite();
    const last = claim?.last ?? [];
    const keys = [this.#keys.claim, this.#keys.processors, this.#told, ...last.map(([processor]) => this.#keys.told(processor))];
    await this.#scripts.twPoolLeave(keys.length, ...keys, this.parts.processor, claim?.epoch ?? '', MAX_ENTRIES, KEEP_MS, ...last.map(([, batch]) => write(batch)));
  }

  close(): void {
    this.#listener = null;
  }

  /** @throws Error where the store is of a later release: as if it did not answer. */
  #mayWrite(): void {
    const refusal = this.parts.refusal();
    if (refusal !== null) throw new Error(`the store is not written to: ${refusal}`);
  }

  /** This processor's name is its own since it began: all that is in its stream is for it. */
  #readTold(): void {
    this.parts.reader.add(this.#told, '0', (text) => { this.#hear(text, (batch: Batch<Told>) => this.#listener?.told(batch)); }, (error) => { this.#faulty(error); });
  }

  #hear<M extends Request | Told>(text: string, take: (batch: Batch<M>) => void): void {
    try {
      take(read<M>(text));
    } catch (error) {
      this.#faulty(error);
    }
  }

  #faulty(error: unknown): void {
    this.#listener?.fault(error);
  }
}

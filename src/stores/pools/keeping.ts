import { Keeper } from './keeper.js';
import { TellLine } from './lines.js';
import type { Standing } from './link.js';
import type { Batch, Request, Told } from './messages.js';
import type { MemberParts } from './parts.js';
import { savedPoolOf } from './saved-pool.js';

/** How long a claim holds, by the server's clock, in milliseconds. */
export const CLAIM_MS = 2_000;
/** A keeper stops so long before its claim ends by its own clock: the two may run a little differently. */
const MARGIN_MS = 300;
/** Longest between two savings, and how much longer it gets with each entitlement, in milliseconds. */
const SAVE_MS = 1_000;
const SAVE_MS_EACH = 3;

export interface KeepingParts extends MemberParts {
  readonly epoch: number;
  readonly standing: Standing;
  /** When the claim was asked for. */
  readonly claimedMs: number;
  /** For this processor itself. */
  readonly hear: (told: Told) => void;
  readonly onLost: () => void;
}

/**
 * A keeper and its claim. It decides only while the claim surely holds: by a monotonic clock, less a margin; and what it tells is passed on only
 * if the claim is still its own. So one that stood still and is not keeper any more changes nothing.
 */
export class Keeping {
  readonly epoch: number;
  readonly #keeper: Keeper;
  readonly #line: TellLine;
  readonly #heard = new Map<string, number>();
  #freshUntilMs: number;
  /** What came while the claim was not sure to hold. */
  #later: Batch<Request>[] = [];
  #savedMs = -Infinity;

  constructor(private readonly parts: KeepingParts) {
    const { epoch, standing, claimedMs, processor, link, clock, poolId, observer } = parts;
    this.epoch = epoch;
    this.#freshUntilMs = claimedMs + CLAIM_MS - MARGIN_MS;
    this.#line = new TellLine({
      ...{ clock, epoch, from: processor, tell: (batches) => link.tell(epoch, batches), onFenced: parts.onLost },
      onFault: (error) => { observer.poolFault(poolId, error); },
    });
    this.#keeper = new Keeper({
      ...parts,
      expected: [...standing.processors, processor],
      mayDecide: () => this.isFresh,
      saved: savedPoolOf(standing.taken?.saved ?? null),
      tell: (to, told) => { this.#tell(to, told); },
      onReady: (gatheredMs) => { observer.keeperReady(poolId, gatheredMs); },
    });
    for (const other of standing.processors) if (other !== processor) this.#line.post(other, { kind: 'began' });
  }

  get isFresh(): boolean {
    return this.parts.clock.nowMs() < this.#freshUntilMs;
  }

  /** How many leases it knows. */
  get leases(): number {
    return this.#keeper.leases;
  }

  /** The claim was renewed; `askedMs`: when that was asked for. */
  renewed(askedMs: number): void {
    this.#freshUntilMs = askedMs + CLAIM_MS - MARGIN_MS;
    const later = this.#later;
    this.#later = [];
    for (const batch of later) this.hear(batch);
  }

  /** What another processor asks. */
  hear(batch: Batch<Request>): void {
    if (batch.epoch !== this.epoch) return;
    if (!this.isFresh) {
      this.#later.push(batch);
      return;
    }
    const { from, n, list } = batch;
    const heard = this.#heard.get(from) ?? 0;
    if (n <= heard) return;
    this.#heard.set(from, n);
    if (n > heard + 1 && list[0]?.kind !== 'register') this.#tell(from, { kind: 'lost' });
    this.#keeper.handle(from, list);
  }

  /** What this processor asks: answered at once. */
  ask(request: Request): void {
    this.#keeper.handle(this.parts.processor, [request]);
  }

  /** What is to be saved now; null: nothing. */
  save(isLast = false): string | null {
    const nowMs = this.parts.clock.nowMs();
    if (!isLast && nowMs < this.#savedMs) return null;
    const saved = this.#keeper.save();
    if (saved === null) return null;
    this.#savedMs = nowMs + Math.max(SAVE_MS, saved.entitlements.length * SAVE_MS_EACH);
    return JSON.stringify(saved);
  }

  stop(): void {
    this.#keeper.stop();
    this.#line.stop();
  }

  /** Decides nothing more. @returns what is to be told to the others as it leaves: one of them may begin at once. */
  last(processors: readonly string[]): Promise<readonly (readonly [string, Batch<Told>])[]> {
    this.#keeper.stop();
    return this.#line.last(processors.filter((other) => other !== this.parts.processor), { kind: 'stops' });
  }

  #tell(to: string, told: Told): void {
    if (to === this.parts.processor) this.parts.hear(told);
    else this.#line.post(to, told);
  }
}

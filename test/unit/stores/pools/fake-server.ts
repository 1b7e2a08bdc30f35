import type { Clock } from '../../../../src/lib/clock.js';
import { CLAIM_MS } from '../../../../src/stores/pools/keeping.js';
import type { Beat, LinkListener, PoolLink, Standing } from '../../../../src/stores/pools/link.js';
import type { Batch, Request, Told } from '../../../../src/stores/pools/messages.js';

const GONE_MS = 5_000;
/** A client waits so long for an answer. */
const COMMAND_MS = 2_000;
const LOOK_MS = 50;

/** What the processors of one pool have in common, in memory: as a Redis would, by a clock of ours, and away when told so. */
export class FakeServer {
  /** Every call fails. */
  isDown = false;
  /** Every call is answered by nothing, until its client gives up. */
  isFrozen = false;
  /** The processor that nothing reaches of what is told it. */
  deaf: string | null = null;
  /** The processor whose calls fail. */
  unheard: string | null = null;
  /** So long a call takes, in milliseconds. */
  slowMs = 0;
  #claim: { processor: string; epoch: number; untilMs: number } | null = null;
  #epoch = 0;
  #saved: string | null = null;
  readonly #lived = new Map<string, number>();
  readonly #listeners = new Map<string, LinkListener>();
  /** Who reads what is asked, and who what is told it: from its first beat until it leaves. */
  readonly #keeping = new Set<string>();
  readonly #reading = new Set<string>();

  constructor(private readonly clock: Clock) {}

  get keeper(): string | null {
    return this.#claim?.processor ?? null;
  }

  link(processor: string): PoolLink {
    return {
      beat: (beat) => {
        this.#reading.add(processor);
        return this.#call(processor, () => this.#beat(processor, beat));
      },
      send: (batch) => this.#call(processor, () => {
        if (this.#keeping.has(this.keeper ?? '')) this.#listeners.get(this.keeper!)?.asked(copy(batch));
      }),
      tell: (epoch, batches) => this.#call(processor, () => this.#tell(processor, epoch, batches)),
      listen: (listener) => { this.#listeners.set(processor, listener); },
      keep: (keeps) => {
        if (keeps) this.#keeping.add(processor);
        else this.#keeping.delete(processor);
      },
      leave: (claim) => {
        this.#reading.delete(processor);
        this.#keeping.delete(processor);
        return this.#call(processor, () => {
          this.#lived.delete(processor);
          if (claim === null || !this.#keeps(processor, claim.epoch)) return;
          this.#tell(processor, claim.epoch, claim.last);
          this.#claim = null;
        });
      },
      close: () => undefined,
    };
  }

  /** All that was known is lost. */
  forget(): void {
    this.#claim = null;
    this.#saved = null;
    this.#lived.clear();
  }

  async #call<T>(processor: string, work: () => T): Promise<T> {
    await Promise.resolve();
    const untilMs = this.clock.nowMs() + COMMAND_MS;
    while (this.isFrozen && this.clock.nowMs() < untilMs) await new Promise<void>((resume) => { this.clock.after(LOOK_MS, resume); });
    if (this.isFrozen) throw new Error('no answer');
    if (this.slowMs > 0) await new Promise<void>((resume) => { this.clock.after(this.slowMs, resume); });
    if (this.isDown || this.unheard === processor) throw new Error('no connection');
    return work();
  }

  #beat(processor: string, { epoch, claims, save }: Beat): Standing {
    const nowMs = this.clock.nowMs();
    let taken: Standing['taken'] = null;
    if (epoch !== null && this.#keeps(processor, epoch)) {
      this.#claim!.untilMs = nowMs + CLAIM_MS;
      this.#saved = save ?? this.#saved;
    } else if (claims && (this.#claim === null || this.#claim.processor === processor || nowMs >= this.#claim.untilMs)) {
      if (this.#claim !== null && this.#claim.processor !== processor) this.#lived.delete(this.#claim.processor);
      this.#claim = { processor, epoch: ++this.#epoch, untilMs: nowMs + CLAIM_MS };
      taken = { saved: this.#saved };
    }
    this.#lived.set(processor, nowMs);
    for (const [other, atMs] of this.#lived) if (nowMs - atMs > GONE_MS) this.#lived.delete(other);
    const claim = this.#claim;
    return { epoch: claim?.epoch ?? 0, keeper: claim?.processor ?? '', leftMs: Math.max(0, (claim?.untilMs ?? 0) - nowMs), processors: [...this.#lived.keys()], taken };
  }

  #keeps(processor: string, epoch: number): boolean {
    return this.#claim?.processor === processor && this.#claim.epoch === epoch;
  }

  #tell(processor: string, epoch: number, batches: readonly (readonly [string, Batch<Told>])[]): boolean {
    if (!this.#keeps(processor, epoch)) return false;
    for (const [to, batch] of batches) if (to !== this.deaf && this.#reading.has(to)) this.#listeners.get(to)?.told(copy(batch));
    return true;
  }
}

/** What travels is text. */
function copy<Message extends Request | Told>(batch: Batch<Message>): Batch<Message> {
  return structuredClone(batch);
}

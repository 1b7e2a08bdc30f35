import type { Batch, Request, Told } from './messages.js';

/** Who keeps a pool now. */
export interface Standing {
  readonly epoch: number;
  readonly keeper: string;
  /** How long its claim still holds, in milliseconds. */
  readonly leftMs: number;
  /** Processors that told lately that they use the pool, those of the dead keeper apart. */
  readonly processors: readonly string[];
  /** The claim is new, and this processor's: what the keeper before it saved, in its words; null: nothing. */
  readonly taken: { readonly saved: string | null } | null;
}

/** A new claim at a server that had lost all: it names who told since then, and those known before run and wait as well. */
export function withKnown(standing: Standing, known: readonly string[]): Standing {
  return standing.taken?.saved === null ? { ...standing, processors: [...new Set([...standing.processors, ...known])] } : standing;
}

export interface Beat {
  /** The claim of this processor that is to be renewed; null: it has none. */
  readonly epoch: number | null;
  /** Whether it wants to be keeper if there is none. */
  readonly claims: boolean;
  /** What the keeper saves; null: nothing new. */
  readonly save: string | null;
}

export interface LinkListener {
  told(batch: Batch<Told>): void;
  /** Only while this processor keeps the pool. */
  asked(batch: Batch<Request>): void;
  /** What was told may have been lost. */
  fault(error: unknown): void;
}

/** What the processors of a pool have in common: messages between them and their keeper, and who that is. Rejections are faults. */
export interface PoolLink {
  /** This processor lives and uses the pool; renews its claim, or claims what nobody holds. */
  beat(beat: Beat): Promise<Standing>;
  /** To whoever keeps the pool. */
  send(batch: Batch<Request>): Promise<void>;
  /** From the keeper of that epoch. False: it is keeper no more, and nothing was told. */
  tell(epoch: number, batches: readonly (readonly [processor: string, batch: Batch<Told>])[]): Promise<boolean>;
  /** Begins to hear; the latest listener counts. */
  listen(listener: LinkListener): void;
  /** Hears what is asked, from now on: it has just claimed the pool. Or no more. */
  keep(keeps: boolean): void;
  /** It uses the pool no more; a claim of its own ends, and that is told in the same step. */
  leave(claim: { readonly epoch: number; readonly last: readonly (readonly [processor: string, batch: Batch<Told>])[] } | null): Promise<void>;
  close(): void;
}

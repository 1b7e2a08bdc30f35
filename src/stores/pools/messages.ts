import type { Entitlement, PoolAnswer, PoolAsk, PoolEnded, PoolEvent, PoolRenewal, PoolSettings, PoolSnapshot } from '../../domain/pool.js';

/** A lease of one processor, told to a keeper that may not know it. Times are told as ages: clocks of two machines differ. */
export interface ToldLease {
  readonly ask: PoolAsk;
  readonly askedAgoMs: number;
  /** Null: it waits. */
  readonly ranAgoMs: number | null;
  readonly work: number;
  readonly kvBytes: number;
  /** Its end is told next: where that is known already, the lease does not begin again. */
  readonly ends: boolean;
}

/** What a processor asks of the keeper of a pool. `seq`: names the answer. `nowMs`: the processor's time. */
export type Request =
  | { readonly kind: 'ask'; readonly seq: number; readonly ask: PoolAsk; readonly nowMs: number }
  | { readonly kind: 'settle'; readonly seq: number; readonly leaseId: string; readonly work: number; readonly nowMs: number }
  | { readonly kind: 'cancel'; readonly seq: number; readonly leaseId: string; readonly nowMs: number }
  | { readonly kind: 'renew'; readonly seq: number; readonly owner: string; readonly renewals: readonly PoolRenewal[]; readonly nowMs: number }
  | { readonly kind: 'tick'; readonly seq: number; readonly settings: PoolSettings; readonly nowMs: number }
  | { readonly kind: 'snapshot'; readonly seq: number; readonly nowMs: number }
  /** Its leases, some or (when `all` is told with the last part) all of them. */
  | { readonly kind: 'register'; readonly leases: readonly ToldLease[]; readonly all: number | null; readonly nowMs: number };

/** What the answer to a request is. */
export type Reply = PoolAnswer | PoolEnded | Next | PoolSnapshot | null;

export interface Next {
  readonly nextAtMs: number | null;
}

export const NOTHING_NEXT: Next = { nextAtMs: null };
/** What an end comes to that waits for a keeper. */
export const NOTED: PoolEnded = { end: 'ended', nextAtMs: null };

/** What a keeper tells a processor. */
export type Told =
  | { readonly kind: 'reply'; readonly seq: number; readonly reply: Reply }
  | { readonly kind: 'event'; readonly owner: string; readonly event: PoolEvent }
  /** All of the processor's leases are known, as of its registration of that number. */
  | { readonly kind: 'registered'; readonly all: number }
  /** Renewed, but not known: they are to be registered. */
  | { readonly kind: 'missing'; readonly leaseIds: readonly string[] }
  /** Messages of the processor were lost: it is to register. */
  | { readonly kind: 'lost' }
  /** A new keeper has begun: everybody is to register. */
  | { readonly kind: 'began' }
  /** This keeper stops: another is to begin. */
  | { readonly kind: 'stops' };

/** Messages that travel together, in order. */
export interface Batch<Message> {
  readonly from: string;
  /** Of the keeper that they are for, or from. */
  readonly epoch: number;
  /** Runs on by one from batch to batch between two parties: a gap tells that one was lost. */
  readonly n: number;
  readonly list: readonly Message[];
}

/** As a batch is written: settings and entitlements, which most messages have in common, stand in it once. */
interface Written {
  readonly f: string;
  readonly e: number;
  readonly n: number;
  readonly t: readonly string[];
  readonly l: readonly unknown[];
}

/** Objects that were written lately, as text; and back: the same text gives the same object, so that a scheduler sees that nothing changed. */
const texts = new WeakMap<object, string>();
const MAX_KNOWN = 20_000;
const known = new Map<string, object>();

function textOf(value: object): string {
  const before = texts.get(value);
  if (before !== undefined) return before;
  const text = JSON.stringify(value);
  texts.set(value, text);
  return text;
}

function valueOf(text: string): object {
  const before = known.get(text);
  if (before !== undefined) return before;
  if (known.size >= MAX_KNOWN) known.clear();
  const value = JSON.parse(text) as object;
  texts.set(value, text);
  known.set(text, value);
  return value;
}

class Table {
  readonly texts: string[] = [];
  readonly #places = new Map<string, number>();

  placeOf(value: object): number {
    const text = textOf(value);
    const before = this.#places.get(text);
    if (before !== undefined) return before;
    this.#places.set(text, this.texts.length);
    return this.texts.push(text) - 1;
  }
}

export function write(batch: Batch<Request | Told>): string {
  const table = new Table();
  const written = (ask: PoolAsk): unknown => ({ ...ask, pool: table.placeOf(ask.pool), entitlement: table.placeOf(ask.entitlement) });
  const list = batch.list.map((message): unknown => {
    switch (message.kind) {
      case 'ask':
        return { ...message, ask: written(message.ask) };
      case 'tick':
        return { ...message, settings: table.placeOf(message.settings) };
      case 'register':
        return { ...message, leases: message.leases.map((lease) => ({ ...lease, ask: written(lease.ask) })) };
      default:
        return message;
    }
  });
  const { from: f, epoch: e, n } = batch;
  return JSON.stringify({ f, e, n, t: table.texts, l: list } satisfies Written);
}

/** Reads what `write` wrote. @throws Error if it is anything else. */
export function read<Message extends Request | Told>(text: string): Batch<Message> {
  const { f, e, n, t, l } = JSON.parse(text) as Written;
  if (!Array.isArray(l) || !Array.isArray(t)) throw new Error('no batch of messages');
  return { from: f, epoch: e, n, list: l.map((message) => withTexts(message, t) as Message) };
}

interface WrittenMessage {
  readonly kind: string;
  ask?: { pool: unknown; entitlement: unknown };
  settings?: unknown;
  leases?: readonly { readonly ask: { pool: unknown; entitlement: unknown } }[];
}

function withTexts(message: unknown, table: readonly string[]): unknown {
  const read = message as WrittenMessage;
  const settle = (ask: { pool: unknown; entitlement: unknown }): void => {
    ask.pool = valueOf(table[ask.pool as number]!) as PoolSettings;
    ask.entitlement = valueOf(table[ask.entitlement as number]!) as Entitlement;
  };
  if (read.kind === 'ask' && read.ask !== undefined) settle(read.ask);
  else if (read.kind === 'tick') read.settings = valueOf(table[read.settings as number]!);
  else if (read.kind === 'register') for (const { ask } of read.leases ?? []) settle(ask);
  return read;
}

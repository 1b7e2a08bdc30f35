import type { PoolEvent } from '../domain/pool.js';

type Listener = (event: PoolEvent) => void;

/** Events that are kept for an owner who does not listen; beyond them the oldest are lost. */
const MAX_KEPT = 10_000;
/** Owners that are known at most; beyond them the one that was told something longest ago is forgotten, unless it listens. */
const MAX_OWNERS = 1_000;

interface Mailbox {
  events: PoolEvent[];
  listener: Listener | null;
}

/** Hands events to their owners, in order, after the call that caused them was answered. Those of an owner that does not listen yet wait for it. */
export class OwnedEvents {
  readonly #mailboxes = new Map<string, Mailbox>();

  send(owned: readonly { readonly owner: string; readonly event: PoolEvent }[]): void {
    for (const { owner, event } of owned) {
      const mailbox = this.#mailboxOf(owner);
      mailbox.events.push(event);
      // Who listens hears all of it, soon: thousands may be due in one moment.
      if (mailbox.listener === null && mailbox.events.length > MAX_KEPT) mailbox.events.shift();
      if (mailbox.events.length === 1) this.#deliverSoon(mailbox);
    }
  }

  /** @returns how to stop listening. The latest listener of an owner is the one that hears. */
  listen(owner: string, listener: Listener): () => void {
    const mailbox = this.#mailboxOf(owner);
    mailbox.listener = listener;
    this.#deliverSoon(mailbox);
    return () => {
      if (mailbox.listener === listener) mailbox.listener = null;
    };
  }

  close(): void {
    this.#mailboxes.clear();
  }

  /** Two microtasks later: who awaits the answer of the call comes first. */
  #deliverSoon(mailbox: Mailbox): void {
    queueMicrotask(() => {
      queueMicrotask(() => deliver(mailbox));
    });
  }

  #mailboxOf(owner: string): Mailbox {
    const known = this.#mailboxes.get(owner);
    if (known !== undefined) return known;
    const made: Mailbox = { events: [], listener: null };
    this.#mailboxes.set(owner, made);
    if (this.#mailboxes.size > MAX_OWNERS) this.#forgetOne();
    return made;
  }

  #forgetOne(): void {
    for (const [owner, { listener }] of this.#mailboxes) {
      if (listener !== null) continue;
      this.#mailboxes.delete(owner);
      return;
    }
  }
}

function deliver(mailbox: Mailbox): void {
  const { listener, events } = mailbox;
  if (listener === null) return;
  mailbox.events = [];
  for (const event of events) listener(event);
}

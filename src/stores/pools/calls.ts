import type { CancelTimer, Clock } from '../../lib/clock.js';
import type { Reply, Request } from './messages.js';

export type Decided = Exclude<Request, { kind: 'register' }>;

/** A request whose answer has not come. */
interface Call {
  readonly request: Decided;
  /** Null: nobody waits for it any more. */
  resolve: ((reply: Reply | undefined) => void) | null;
  cancelTimer: CancelTimer | null;
}

/** What this processor asked and was not answered. What ends a lease stays until a keeper confirms it, within a bound; the rest until nobody waits. */
export class Calls {
  readonly #calls = new Map<number, Call>();
  #seq = 0;

  constructor(
    private readonly clock: Clock,
    private readonly maxKept: number,
  ) {}

  get size(): number {
    return this.#calls.size;
  }

  /** @returns the request, and a promise of its answer; undefined if none came within `ms`. `ms` 0: nobody waits. */
  begin(make: (seq: number) => Decided, ms: number): { readonly request: Decided; readonly reply: Promise<Reply | undefined> } {
    const request = make(++this.#seq);
    const call: Call = { request, resolve: null, cancelTimer: null };
    this.#calls.set(request.seq, call);
    if (this.#calls.size > this.maxKept) this.#forgetOne();
    if (ms === 0) return { request, reply: Promise.resolve(undefined) };
    const reply = new Promise<Reply | undefined>((resolve) => {
      call.resolve = resolve;
      call.cancelTimer = this.clock.after(ms, () => { this.#timedOut(call); });
    });
    return { request, reply };
  }

  /** Its answer came; `isLate`: nobody waits for it. Undefined: it is not known. */
  answered(seq: number, reply: Reply): { readonly request: Decided; readonly isLate: boolean } | undefined {
    const call = this.#calls.get(seq);
    if (call === undefined) return undefined;
    this.#calls.delete(seq);
    const isLate = call.resolve === null;
    this.#end(call, reply);
    return { request: call.request, isLate };
  }

  /** What is to be asked again, in order: what somebody waits for, and ends. */
  open(): Decided[] {
    const open: Decided[] = [];
    for (const { request, resolve } of this.#calls.values()) {
      if (resolve !== null || isEnd(request)) open.push(request);
      else this.#calls.delete(request.seq);
    }
    return open;
  }

  /** Nobody waits for it, and nobody is to ask it again. */
  dropAsk(leaseId: string): void {
    for (const call of this.#calls.values()) {
      if (call.request.kind !== 'ask' || call.request.ask.leaseId !== leaseId) continue;
      this.#calls.delete(call.request.seq);
      this.#end(call, undefined);
    }
  }

  /** Nobody waits for anything any more. */
  release(): void {
    for (const call of this.#calls.values()) this.#end(call, undefined);
  }

  #timedOut(call: Call): void {
    // A late answer to a question for room is of use; others are not.
    if (!isEnd(call.request) && call.request.kind !== 'ask') this.#calls.delete(call.request.seq);
    this.#end(call, undefined);
  }

  #end(call: Call, reply: Reply | undefined): void {
    const { resolve } = call;
    call.cancelTimer?.();
    call.resolve = null;
    resolve?.(reply);
  }

  #forgetOne(): void {
    for (const call of this.#calls.values()) {
      if (call.resolve !== null) continue;
      this.#calls.delete(call.request.seq);
      return;
    }
  }
}

function isEnd({ kind }: Decided): boolean {
  return kind === 'settle' || kind === 'cancel';
}

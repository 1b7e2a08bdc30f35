const FIRST_SIZE = 1024;

/**
 * What happens next on the virtual clock: a binary heap in typed arrays, so that an event is no object. Equal times come in the order in
 * which they were added: a run depends on nothing but its input.
 */
export class EventQueue {
  #times = new Float64Array(FIRST_SIZE);
  #orders = new Float64Array(FIRST_SIZE);
  #kinds = new Int32Array(FIRST_SIZE);
  #subjects = new Int32Array(FIRST_SIZE);
  #versions = new Int32Array(FIRST_SIZE);
  #length = 0;
  #order = 0;

  /** Of the event that was taken last. */
  timeMs = 0;
  kind = 0;
  subject = 0;
  version = 0;

  get length(): number {
    return this.#length;
  }

  /** When the next event is; Infinity if there is none. */
  peekMs(): number {
    return this.#length === 0 ? Infinity : this.#times[0]!;
  }

  /** @param kind, subject, version 32-bit numbers of the caller's own meaning. */
  add(timeMs: number, kind: number, subject = 0, version = 0): void {
    if (this.#length === this.#times.length) this.#grow();
    const order = this.#order++;
    let at = this.#length++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      // Equal times: the parent is older.
      if (this.#times[parent]! <= timeMs) break;
      this.#move(parent, at);
      at = parent;
    }
    this.#put(at, timeMs, order, kind, subject, version);
  }

  /** Takes the next event into the fields. @returns whether there was one. */
  take(): boolean {
    if (this.#length === 0) return false;
    this.timeMs = this.#times[0]!;
    this.kind = this.#kinds[0]!;
    this.subject = this.#subjects[0]!;
    this.version = this.#versions[0]!;
    const last = --this.#length;
    if (last > 0) this.#sink(last);
    return true;
  }

  /** Puts the entry at `last` where it belongs, from the top down. */
  #sink(last: number): void {
    const time = this.#times[last]!;
    const order = this.#orders[last]!;
    let at = 0;
    for (let child = 1; child < this.#length; child = 2 * at + 1) {
      if (child + 1 < this.#length && this.#isBefore(child + 1, this.#times[child]!, this.#orders[child]!)) child++;
      if (!this.#isBefore(child, time, order)) break;
      this.#move(child, at);
      at = child;
    }
    this.#put(at, time, order, this.#kinds[last]!, this.#subjects[last]!, this.#versions[last]!);
  }

  #isBefore(at: number, time: number, order: number): boolean {
    return this.#times[at]! < time || (this.#times[at]! === time && this.#orders[at]! < order);
  }

  #move(from: number, to: number): void {
    this.#put(to, this.#times[from]!, this.#orders[from]!, this.#kinds[from]!, this.#subjects[from]!, this.#versions[from]!);
  }

  #put(at: number, time: number, order: number, kind: number, subject: number, version: number): void {
    this.#times[at] = time;
    this.#orders[at] = order;
    this.#kinds[at] = kind;
    this.#subjects[at] = subject;
    this.#versions[at] = version;
  }

  #grow(): void {
    const size = this.#times.length * 2;
    this.#times = copied(this.#times, new Float64Array(size));
    this.#orders = copied(this.#orders, new Float64Array(size));
    this.#kinds = copied(this.#kinds, new Int32Array(size));
    this.#subjects = copied(this.#subjects, new Int32Array(size));
    this.#versions = copied(this.#versions, new Int32Array(size));
  }
}

function copied<T extends Float64Array | Int32Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

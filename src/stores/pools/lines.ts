import type { CancelTimer, Clock } from '../../lib/clock.js';
import type { Batch, Request, Told } from './messages.js';

/** Messages in one batch, so that none holds up a reader for long. */
const AT_ONCE = 500;
const AGAIN_MS = 100;

/** Sends what one turn of the event loop asks in one batch; while one is on its way, the next gathers. */
export class AskLine {
  #waiting: Request[] = [];
  #sending: Promise<void> | null = null;
  #isScheduled = false;
  #n = 0;
  #epoch = 0;

  constructor(
    private readonly from: string,
    private readonly send: (batch: Batch<Request>) => Promise<void>,
    private readonly onFault: (error: unknown) => void,
  ) {}

  /** Goes on with another keeper: what waits was for the old one. */
  follow(epoch: number): void {
    this.#waiting = [];
    if (this.#epoch === epoch) return;
    this.#epoch = epoch;
    this.#n = 0;
  }

  /** Resolves when what waits was sent. Never rejects. */
  flush(): Promise<void> {
    if (this.#sending === null && this.#waiting.length === 0) return Promise.resolve();
    return (this.#sending ??= this.#sendAll());
  }

  post(request: Request): void {
    this.#waiting.push(request);
    if (this.#isScheduled || this.#sending !== null) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      void this.flush();
    });
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const list = this.#waiting.splice(0, AT_ONCE);
      try {
        await this.send({ from: this.from, epoch: this.#epoch, n: ++this.#n, list });
      } catch (error) {
        // Nobody knows whether it arrived. All is told again.
        this.#waiting = [];
        this.onFault(error);
      }
    }
    // In the step that saw nothing wait: what comes next begins anew.
    this.#sending = null;
  }
}

type Tell = (batches: readonly (readonly [string, Batch<Told>])[]) => Promise<boolean>;

export interface TellParts {
  readonly clock: Clock;
  readonly from: string;
  readonly epoch: number;
  readonly tell: Tell;
  /** Another is keeper. */
  readonly onFenced: () => void;
  readonly onFault: (error: unknown) => void;
}

/** Tells processors, all of one turn in one call; what could not be told is told again until another is keeper. */
export class TellLine {
  readonly #waiting = new Map<string, Told[]>();
  readonly #numbers = new Map<string, number>();
  #telling: Promise<void> | null = null;
  #isScheduled = false;
  #stopped = false;
  #cancelTimer: CancelTimer | null = null;
  #wake: (() => void) | null = null;

  constructor(private readonly parts: TellParts) {}

  post(processor: string, told: Told): void {
    if (this.#stopped) return;
    const list = this.#waiting.get(processor);
    if (list === undefined) this.#waiting.set(processor, [told]);
    else list.push(told);
    if (this.#isScheduled || this.#telling !== null) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      void this.#flush();
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#waiting.clear();
    this.#cancelTimer?.();
    this.#wake?.();
  }

  /** Tells all that waits, and then gives what is to be told last to these: for the call by which the keeper leaves. */
  async last(processors: readonly string[], told: Told): Promise<readonly (readonly [string, Batch<Told>])[]> {
    await this.#flush();
    for (const processor of processors) this.#waiting.set(processor, [told]);
    const batches = this.#take();
    this.stop();
    return batches;
  }

  #flush(): Promise<void> {
    if (this.#telling === null && (this.#waiting.size === 0 || this.#stopped)) return Promise.resolve();
    return (this.#telling ??= this.#tellAll());
  }

  async #tellAll(): Promise<void> {
    while (this.#waiting.size > 0 && !this.#stopped) await this.#tell(this.#take());
    // In the step that saw nothing wait: what comes next begins anew.
    this.#telling = null;
  }

  #take(): (readonly [string, Batch<Told>])[] {
    const { from, epoch } = this.parts;
    const batches = [...this.#waiting].map(([processor, list]) => {
      const n = (this.#numbers.get(processor) ?? 0) + 1;
      this.#numbers.set(processor, n);
      return [processor, { from, epoch, n, list }] as const;
    });
    this.#waiting.clear();
    return batches;
  }

  /** The same numbers again: who heard it passes it over. */
  async #tell(batches: readonly (readonly [string, Batch<Told>])[]): Promise<void> {
    while (!this.#stopped) {
      try {
        if (await this.parts.tell(batches)) return;
        this.stop();
        this.parts.onFenced();
        return;
      } catch (error) {
        this.parts.onFault(error);
        await this.#pause();
      }
    }
  }

  #pause(): Promise<void> {
    return new Promise((resume) => {
      this.#wake = resume;
      this.#cancelTimer = this.parts.clock.after(AGAIN_MS, resume);
    });
  }
}

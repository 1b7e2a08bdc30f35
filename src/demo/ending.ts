import { setMaxListeners } from 'node:events';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Somebody wants the demo to end now. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';

  constructor(readonly signal: NodeJS.Signals) {
    super(`ended by ${signal}`);
  }
}

/** Ctrl-C and its like, as an abort signal. */
export interface Interruption {
  /** Its reason is `Interrupted`, or the fault that ended it. */
  readonly signal: AbortSignal;
  /** Waits for the work, or rejects with the signal's reason as soon as that comes. */
  orEnd<T>(work: Promise<T>): Promise<T>;
  /** Something that has to run all the time failed. */
  fail(fault: Error): void;
  /** Signals act as usual again. */
  release(): void;
}

/** The first signal asks for an orderly end; a second one ends the process at once, and the exit handlers stop what it started. */
export function watchInterruption(): Interruption {
  const abort = new AbortController();
  const onSignal = (signal: NodeJS.Signals): void => {
    if (abort.signal.aborted) process.exit(130);
    abort.abort(new Interrupted(signal));
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  const { signal } = abort;
  // Every request of the story listens to it.
  setMaxListeners(0, signal);
  const interrupted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => {
      reject(signal.reason as Error);
    });
  });
  interrupted.catch(() => undefined);
  return {
    signal,
    orEnd: (work) => Promise.race([work, interrupted]),
    fail: (fault) => {
      abort.abort(fault);
    },
    release: () => {
      for (const name of SIGNALS) process.off(name, onSignal);
    },
  };
}

/** What was started and has to be stopped, in reverse order. */
export class Cleanup {
  readonly #tasks: (() => Promise<unknown>)[] = [];

  add(task: () => Promise<unknown>): void {
    this.#tasks.push(task);
  }

  /** Does it all, also where some of it fails; afterwards nothing is left to do. */
  async run(): Promise<void> {
    for (let task = this.#tasks.pop(); task !== undefined; task = this.#tasks.pop()) await task().catch(() => undefined);
  }
}

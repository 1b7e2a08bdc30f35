import { Worker } from 'node:worker_threads';
import type { ExactCounter } from '../domain/exact.js';
import type { Clock } from '../lib/clock.js';
import type { Question, Reply } from './worker.js';

export interface ExactCounterOptions {
  readonly clock: Clock;
  /** Told of a worker that failed or hung; it is replaced. */
  readonly onFault: (error: unknown) => void;
}

/** More texts than this do not wait for their turn. */
const MAX_WAITING = 32;
/** A worker that is silent for so long hangs. Its start is in it: on a busy machine the tokenizer alone takes four seconds to load. */
const HANGING_MS = 20_000;
/** After a failure nothing is counted for so long: what failed (the tokenizer is not installed) will most likely fail again. */
const PAUSE_MS = 10_000;

/** Counts in a thread of its own, which is started at the first text and replaced when it fails or hangs. */
export function createExactCounter(options: ExactCounterOptions): ExactCounter {
  return new WorkerCounter(options);
}

interface Waiting {
  /** Answers its asker; later answers are for nobody. */
  readonly answer: (tokens: number | null) => void;
  readonly cancelHanging: () => void;
}

class WorkerCounter implements ExactCounter {
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #lastId = 0;
  #closed = false;
  #pausedUntilMs = 0;

  constructor(private readonly options: ExactCounterOptions) {}

  count(text: string, timeoutMs: number): Promise<number | null> {
    const paused = this.options.clock.nowMs() < this.#pausedUntilMs;
    if (this.#closed || paused || this.#waiting.size >= MAX_WAITING) return Promise.resolve(null);
    return new Promise((resolve) => {
      this.#ask({ id: ++this.#lastId, text }, timeoutMs, resolve);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#drop();
  }

  #ask(question: Question, timeoutMs: number, answer: (tokens: number | null) => void): void {
    const { clock } = this.options;
    const cancelTimeout = clock.after(timeoutMs, () => {
      answer(null);
    });
    const cancelHanging = clock.after(HANGING_MS, () => {
      this.#failed(new Error('the worker that counts tokens hangs'));
    });
    this.#waiting.set(question.id, {
      answer: (tokens) => {
        cancelTimeout();
        answer(tokens);
      },
      cancelHanging,
    });
    (this.#worker ??= this.#start()).postMessage(question);
  }

  #start(): Worker {
    const worker = new Worker(new URL('./worker.js', import.meta.url));
    // It must not keep a program alive that has nothing else to do.
    worker.unref();
    worker.on('message', ({ id, tokens }: Reply) => {
      this.#answered(id, tokens);
    });
    worker.on('error', (error) => {
      if (this.#worker === worker) this.#failed(error);
    });
    return worker;
  }

  #failed(error: unknown): void {
    this.#pausedUntilMs = this.options.clock.nowMs() + PAUSE_MS;
    this.options.onFault(error);
    void this.#drop();
  }

  #answered(id: number, tokens: number | null): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    waiting?.cancelHanging();
    waiting?.answer(tokens);
  }

  /** Ends the worker; whoever waits for it goes without. */
  async #drop(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    for (const id of [...this.#waiting.keys()]) this.#answered(id, null);
    await worker?.terminate();
  }
}

import { pino } from 'pino';
import type { CancelTimer, Clock } from '../lib/clock.js';

/** Where lines go. */
export interface LogDestination {
  write(line: string): void;
  /** Resolves when all that was written is out, or a bound passed. */
  close?(): Promise<void>;
}

const FLUSH_EVERY_MS = 100;
/** A write wakes another thread: with 4 KiB a batch, one in seven requests paid for one (6 % of our CPU). */
const BATCH_CHARS = 65_536;
/** Lines wait in memory while the reader of our output is slow; beyond this they are dropped. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
const CLOSE_WITHIN_MS = 1_000;
/** The last write of all is synchronous; a pipe that stays full is tried this often, 100 ms apart. */
const LAST_TRIES = 5;

/**
 * Lines to a file descriptor (standard output), in batches and without ever blocking traffic. A reader that is gone, a full
 * disk or a pipe that nobody empties costs lines, never the process.
 */
export function fdDestination(clock: Clock, fd = 1): LogDestination {
  let lastTries: number | null = null;
  const stream = pino.destination({
    dest: fd,
    sync: false,
    // Each batch is written at once; with 0 the stream would not wait for its writes when it is flushed.
    minLength: 1,
    maxWrite: 2 * BATCH_CHARS,
    maxLength: MAX_WAITING_BYTES,
    retryEAGAIN: () => lastTries === null || lastTries-- > 0,
  });
  stream.on('error', () => undefined);
  const batch = new Batch(clock, (lines) => {
    stream.write(lines);
  });
  return {
    write: (line) => {
      batch.add(line);
    },
    close: async () => {
      batch.flush();
      if (await flushed(stream, clock)) {
        // Nothing is under way that it could overtake.
        lastTries = LAST_TRIES;
        writeRest(stream);
        lastTries = null;
      }
    },
  };
}

/**
 * Gathers lines and hands them on in one piece. The stream gathers as well, but measures all it holds again with each line: at
 * this size that copied 32 KB for every line of 700 bytes.
 */
class Batch {
  #lines: string[] = [];
  #chars = 0;
  #cancelTimer: CancelTimer | null = null;

  constructor(
    private readonly clock: Clock,
    private readonly write: (lines: string) => void,
  ) {}

  add(line: string): void {
    this.#lines.push(line);
    this.#chars += line.length;
    if (this.#chars >= BATCH_CHARS) this.flush();
    else
      this.#cancelTimer ??= this.clock.after(FLUSH_EVERY_MS, () => {
        this.flush();
      });
  }

  flush(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    if (this.#lines.length === 0) return;
    const lines = this.#lines.join('');
    this.#lines = [];
    this.#chars = 0;
    this.write(lines);
  }
}

type Stream = ReturnType<typeof pino.destination>;

/** False where the bound passed first. */
function flushed(stream: Stream, clock: Clock): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = clock.after(CLOSE_WITHIN_MS, () => {
      resolve(false);
    });
    stream.flush((error) => {
      cancel();
      resolve(error === undefined || error === null);
    });
  });
}

function writeRest(stream: Stream): void {
  try {
    stream.flushSync();
  } catch {
    // Whoever read our output is gone; there is nobody left to tell.
  }
}

import { pino } from 'pino';
import type { Clock } from '../lib/clock.js';

/** Where lines go. */
export interface LogDestination {
  write(line: string): void;
  /** Resolves when all that was written is out, or a bound passed. */
  close?(): Promise<void>;
}

const FLUSH_EVERY_MS = 100;
/** A write wakes another thread: with 4 KiB a batch, one in seven requests paid for one (6 % of our CPU). */
const BATCH_BYTES = 65_536;
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
    minLength: BATCH_BYTES,
    maxWrite: 2 * BATCH_BYTES,
    maxLength: MAX_WAITING_BYTES,
    periodicFlush: FLUSH_EVERY_MS,
    retryEAGAIN: () => lastTries === null || lastTries-- > 0,
  });
  stream.on('error', () => undefined);
  return {
    write: (line) => {
      stream.write(line);
    },
    close: async () => {
      if (await flushed(stream, clock)) {
        // What is left is less than a batch, and nothing is under way that it could overtake.
        lastTries = LAST_TRIES;
        writeRest(stream);
        lastTries = null;
      }
    },
  };
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

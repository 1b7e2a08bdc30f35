import { pino } from 'pino';
import type { Clock } from '../lib/clock.js';

/** Where lines go. */
export interface LogDestination {
  write(line: string): void;
  /** Resolves when all that was written is out, or a bound passed. */
  close?(): Promise<void>;
}

const FLUSH_EVERY_MS = 100;
const BATCH_BYTES = 4_096;
/** Lines wait in memory while the reader of our output is slow; beyond this they are dropped. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
const CLOSE_WITHIN_MS = 1_000;

/**
 * Lines to a file descriptor (standard output), in batches and without ever blocking traffic. A reader that is gone, a full
 * disk or a pipe that nobody empties costs lines, never the process.
 */
export function fdDestination(clock: Clock, fd = 1): LogDestination {
  const stream = pino.destination({
    dest: fd,
    sync: false,
    minLength: BATCH_BYTES,
    maxLength: MAX_WAITING_BYTES,
    periodicFlush: FLUSH_EVERY_MS,
  });
  stream.on('error', () => undefined);
  return {
    write: (line) => {
      stream.write(line);
    },
    close: () =>
      new Promise((resolve) => {
        const cancel = clock.after(CLOSE_WITHIN_MS, resolve);
        stream.flush(() => {
          cancel();
          resolve();
        });
      }),
  };
}

import type { Clock } from '../../lib/clock.js';

/** The store did not answer in time. Whether it did what it was asked is not known. */
export class TimedOut extends Error {
  constructor(ms: number) {
    super(`the store did not answer within ${ms} ms`);
  }
}

/** The call's own answer, or a rejection with `TimedOut` after `ms`; an answer that comes later is passed over. */
export function within<T>(clock: Clock, ms: number, call: () => Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const answer = call();
    const cancel = clock.after(ms, () => {
      reject(new TimedOut(ms));
    });
    answer.then(
      (value) => {
        cancel();
        resolve(value);
      },
      (error: unknown) => {
        cancel();
        reject(error);
      },
    );
  });
}

/** Runs `work` on all items, at most `width` at a time. Rejects with the first failure, and begins no new one after it. */
export async function inParallel<T>(items: readonly T[], width: number, work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  let failed = false;
  const worker = async (): Promise<void> => {
    for (const item of rest) {
      if (failed) return;
      try {
        await work(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker));
}

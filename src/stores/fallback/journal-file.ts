import { mkdir, open, readFile, rename, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '../../lib/clock.js';
import { Journal, type JournalBounds, type JournalCopy, type JournalEntry } from './journal.js';
import { readJournal, type JournalLine } from './journal-lines.js';

/** What was written is on the disk itself at most so much later. */
const SYNC_MS = 1_000;
/** Written anew before it is longer than so many times the journal's own bound. */
const COMPACT_FACTOR = 2;

export interface JournalFileOptions {
  /** Of this processor alone. */
  readonly path: string;
  readonly bounds: JournalBounds;
  readonly clock: Clock;
  /** The file could not be read or written: entries are in memory only until it can. */
  readonly onFault: (error: unknown) => void;
}

/**
 * A journal that outlives its process: one line of JSON for each entry and for each that was booked. Lines are handed to the system as they
 * come, so a crash of the process loses none that `add` was called for but those of the same moment; and they are synced once a second, so a
 * crash of the machine loses the last second. What an earlier process left is in it from the start.
 * @throws Error if the folder can't be made or the file not opened: a journal that was asked for and can't be kept is told at the start.
 */
export async function openJournal(options: JournalFileOptions): Promise<Journal> {
  const { path, bounds, clock } = options;
  await mkdir(dirname(path), { recursive: true });
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  });
  const found = readJournal(text, clock.nowMs());
  const file = new JournalFile(options, found);
  await file.begin();
  return new Journal(bounds, file, found);
}

class JournalFile implements JournalCopy {
  #handle: FileHandle | null = null;
  readonly #live = new Map<string, string>();
  #waiting: string[] = [];
  #appended = 0;
  #work: Promise<void> = Promise.resolve();
  #working = false;
  #syncing = false;

  constructor(
    private readonly options: JournalFileOptions,
    found: readonly JournalEntry[],
  ) {
    for (const entry of found) this.#live.set(entry.leaseId, lineOf({ entry }));
  }

  /** Writes what was found anew: without what is booked, and without a line that a crash cut. */
  async begin(): Promise<void> {
    await this.#rewrite();
  }

  added(entry: JournalEntry, json: string): void {
    const line = `{"entry":${json}}\n`;
    this.#live.set(entry.leaseId, line);
    this.#append(line);
  }

  done(leaseId: string): void {
    if (this.#live.delete(leaseId)) this.#append(lineOf({ done: leaseId }));
  }

  async close(): Promise<void> {
    while (this.#working) await this.#work;
    await this.#guarded(async () => {
      await this.#handle?.datasync();
      await this.#handle?.close();
      this.#handle = null;
    });
  }

  #append(line: string): void {
    this.#waiting.push(line);
    if (this.#working) return;
    this.#working = true;
    this.#work = this.#writeAll();
  }

  /** One write at a time, of all that has come meanwhile. */
  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const text = this.#waiting.join('');
      this.#waiting = [];
      const whole = this.#live.size === 0 || this.#appended + text.length > COMPACT_FACTOR * this.options.bounds.maxBytes;
      await this.#guarded(whole ? () => this.#rewrite() : () => this.#write(text));
    }
    this.#working = false;
  }

  async #write(text: string): Promise<void> {
    if (this.#handle === null) {
      await this.#rewrite();
      return;
    }
    await this.#handle.appendFile(text);
    this.#appended += text.length;
    this.#syncSoon();
  }

  /** Into a file beside it, synced, that takes the old one's place: a crash leaves one or the other. */
  async #rewrite(): Promise<void> {
    const { path } = this.options;
    const lines = [...this.#live.values()].join('');
    const next = await open(`${path}.new`, 'w', 0o600);
    try {
      await next.appendFile(lines);
      await next.datasync();
      await rename(`${path}.new`, path);
    } catch (error) {
      await next.close();
      throw error;
    }
    await this.#handle?.close();
    this.#handle = next;
    this.#appended = lines.length;
  }

  #syncSoon(): void {
    if (this.#syncing) return;
    this.#syncing = true;
    this.options.clock.after(SYNC_MS, () => {
      this.#syncing = false;
      void this.#guarded(async () => this.#handle?.datasync());
    });
  }

  /** A file that fails is begun anew with the next line. */
  async #guarded(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      const broken = this.#handle;
      this.#handle = null;
      await broken?.close().catch(() => undefined);
      this.options.onFault(error);
    }
  }
}

function lineOf(line: JournalLine): string {
  return `${JSON.stringify(line)}\n`;
}

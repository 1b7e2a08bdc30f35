import { appendFile, mkdir, open, readFile, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { CancelTimer, Clock } from '../../lib/clock.js';
import { Journal, type JournalBounds, type JournalCopy, type JournalEntry } from './journal.js';
import { readJournal, type JournalLine } from './journal-lines.js';

/** What was written is on the disk itself at most so much later. */
const SYNC_MS = 1_000;
/** After a fault (a full disk) the file is left alone for so long: what comes meanwhile is written with the next try. */
const RETRY_MS = 1_000;
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
 * @throws Error if the folder can't be made or the file not opened: a journal that was asked for and can't be kept is told at the start. A disk
 * that is full is no reason not to start.
 */
export async function openJournal(options: JournalFileOptions): Promise<Journal> {
  const { path, bounds, clock } = options;
  await mkdir(dirname(path), { recursive: true });
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  });
  const { entries, unreadable } = readJournal(text, clock.nowMs());
  await keepUnreadable(options, unreadable);
  const file = new JournalFile(options, entries);
  await file.begin();
  return new Journal(bounds, file, entries);
}

/** Lines that are damaged or of another version go into a file beside the journal, for a person to look at: each may be a settlement. */
async function keepUnreadable({ path, onFault }: JournalFileOptions, lines: readonly string[]): Promise<void> {
  if (lines.length === 0) return;
  const aside = `${path}.unreadable`;
  await appendFile(aside, lines.map((line) => `${line}\n`).join(''), { mode: 0o600 });
  onFault(new Error(`${lines.length} lines of the journal could not be read; they are in ${aside}, and not booked`));
}

class JournalFile implements JournalCopy {
  #handle: FileHandle | null = null;
  readonly #live = new Map<string, string>();
  #waiting: string[] = [];
  #appended = 0;
  #work: Promise<void> = Promise.resolve();
  #working = false;
  #cancelSync: CancelTimer | null = null;
  #syncDue = false;
  /** Set after a fault, until it is tried again. */
  #cancelRetry: CancelTimer | null = null;

  constructor(
    private readonly options: JournalFileOptions,
    found: readonly JournalEntry[],
  ) {
    for (const entry of found) this.#live.set(entry.leaseId, lineOf({ entry }));
  }

  /** Writes what was found anew: without what is booked, and without a line that a crash cut. */
  async begin(): Promise<void> {
    try {
      await this.#rewrite();
    } catch (error) {
      // A full disk is no mistake of the configuration: what was read is there, and a processor that does not start serves nobody.
      if (!isFullDisk(error)) throw error;
      await this.#failed(error);
    }
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
    this.#cancelSync?.();
    while (this.#working) await this.#work;
    await this.#guarded(async () => {
      if (this.#handle === null) await this.#rewrite();
      await this.#handle?.datasync();
      await this.#handle?.close();
      this.#handle = null;
    });
    this.#cancelRetry?.();
  }

  #append(line: string): void {
    // The next try writes all that is live.
    if (this.#cancelRetry !== null) return;
    this.#waiting.push(line);
    this.#start();
  }

  #start(): void {
    if (this.#working) return;
    this.#working = true;
    this.#work = this.#writeAll();
  }

  /** One write at a time, of all that has come meanwhile. */
  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0 || this.#syncDue) {
      const text = this.#waiting.join('');
      this.#waiting = [];
      if (text !== '' || this.#handle === null) await this.#guarded(() => this.#write(text));
      if (this.#syncDue) await this.#guarded(() => this.#sync());
    }
    this.#working = false;
  }

  async #write(text: string): Promise<void> {
    const whole = this.#live.size === 0 || this.#appended + text.length > COMPACT_FACTOR * this.options.bounds.maxBytes;
    if (whole || this.#handle === null) {
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
      // What is left of it would keep the disk full.
      await rm(`${path}.new`, { force: true });
      throw error;
    }
    await this.#replaceBy(next, lines.length);
  }

  async #replaceBy(next: FileHandle, length: number): Promise<void> {
    await this.#handle?.close();
    this.#handle = next;
    this.#appended = length;
  }

  #syncSoon(): void {
    this.#cancelSync ??= this.options.clock.after(SYNC_MS, () => {
      this.#cancelSync = null;
      this.#syncDue = true;
      this.#start();
    });
  }

  async #sync(): Promise<void> {
    this.#syncDue = false;
    if (this.#handle === null) return;
    await this.#handle.datasync();
    const named = await stat(this.options.path).catch(() => null);
    const ours = await this.#handle.stat();
    if (named?.ino !== ours.ino || named.dev !== ours.dev) await this.#join(named !== null);
  }

  /**
   * The file was taken away, or another one took its name: all that waits goes into what has the name now. That is another processor's
   * where two were given one file; neither loses what it has, until the other writes it anew.
   */
  async #join(isTaken: boolean): Promise<void> {
    const { path, onFault } = this.options;
    if (isTaken) onFault(new Error(`the journal ${path} is written by somebody else, too: each processor needs its own`));
    const lines = [...this.#live.values()].join('');
    const next = await open(path, 'a', 0o600);
    await this.#replaceBy(next, lines.length);
    await next.appendFile(lines);
    await next.datasync();
  }

  /** A file that fails is begun anew a little later. */
  async #guarded(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      await this.#failed(error);
    }
  }

  async #failed(error: unknown): Promise<void> {
    const broken = this.#handle;
    this.#handle = null;
    this.#waiting = [];
    await broken?.close().catch(() => undefined);
    this.#retryLater();
    this.options.onFault(error);
  }

  #retryLater(): void {
    this.#cancelRetry ??= this.options.clock.after(RETRY_MS, () => {
      this.#cancelRetry = null;
      this.#append('');
    });
  }
}

function isFullDisk(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');
}

function lineOf(line: JournalLine): string {
  return `${JSON.stringify(line)}\n`;
}

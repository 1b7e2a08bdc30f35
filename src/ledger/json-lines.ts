import { open, stat, type FileHandle } from 'node:fs/promises';
import { eventKey, eventKind, type LedgerSink } from '../domain/ledger.js';
import type { StoredEvent } from '../domain/store.js';
import type { Clock } from '../lib/clock.js';
import { putAside, syncFolder } from './rotation.js';

export interface JsonLinesOptions {
  /** Its folder must exist. */
  readonly file: string;
  /** A file that would grow beyond this is put aside under a name with the time, and a new one begun; one batch of events is never divided. */
  readonly maxBytes: number;
  /** How many that were put aside are kept. */
  readonly keep: number;
  readonly clock: Pick<Clock, 'nowMs'>;
}

const OWNER_ONLY = 0o600;
const LINE_END = 0x0a;

/**
 * The ledger as a file of JSON lines, written at its end only. A line that a crash cut is ended there, so that it does not parse and harms
 * no other: its event was never taken for kept, and comes again. Somebody else may take the file away at any time; a new one is begun.
 */
export function jsonLinesSink(options: JsonLinesOptions): LedgerSink {
  return new JsonLines(options);
}

/** One event as a line: its `key`, `kind`, `rootId` and `id`, then the fields of the event. */
export function eventLine(stored: StoredEvent): string {
  const { rootId, id, event } = stored;
  return `${JSON.stringify({ key: eventKey(stored), kind: eventKind(stored), rootId, id, ...event })}\n`;
}

class JsonLines implements LedgerSink {
  #handle: FileHandle | null = null;
  /** Writes one after the other. */
  #tail: Promise<void> = Promise.resolve();

  constructor(private readonly options: JsonLinesOptions) {}

  write(events: readonly StoredEvent[]): Promise<void> {
    return this.#inTurn(() => this.#append(Buffer.from(events.map(eventLine).join(''))));
  }

  close(): Promise<void> {
    return this.#inTurn(() => this.#release());
  }

  #inTurn(step: () => Promise<void>): Promise<void> {
    const done = this.#tail.then(step);
    this.#tail = done.catch(() => undefined);
    return done;
  }

  async #append(lines: Buffer): Promise<void> {
    try {
      const handle = await this.#ready(lines.length);
      await handle.appendFile(lines);
      await handle.datasync();
    } catch (error) {
      // Perhaps a part is written: opening it again ends the line.
      await this.#release().catch(() => undefined);
      throw error;
    }
  }

  /** The file, with room for so many bytes. */
  async #ready(bytes: number): Promise<FileHandle> {
    const { file, maxBytes, keep, clock } = this.options;
    const handle = await this.#current();
    const { size } = await handle.stat();
    if (size === 0 || size + bytes <= maxBytes) return handle;
    await this.#release();
    await putAside(file, keep, clock.nowMs());
    return this.#current();
  }

  /** The file that has the name now. */
  async #current(): Promise<FileHandle> {
    if (this.#handle !== null && !(await this.#isInPlace(this.#handle))) await this.#release();
    return (this.#handle ??= await this.#open());
  }

  async #isInPlace(handle: FileHandle): Promise<boolean> {
    const [ours, named] = await Promise.all([handle.stat(), stat(this.options.file).catch(() => null)]);
    return named !== null && ours.ino === named.ino && ours.dev === named.dev;
  }

  async #open(): Promise<FileHandle> {
    const handle = await open(this.options.file, 'a+', OWNER_ONLY);
    try {
      await syncFolder(this.options.file);
      if (await isCut(handle)) await handle.appendFile('\n');
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async #release(): Promise<void> {
    const handle = this.#handle;
    this.#handle = null;
    await handle?.close();
  }
}

/** Its last line has no end. */
async function isCut(handle: FileHandle): Promise<boolean> {
  const { size } = await handle.stat();
  if (size === 0) return false;
  const last = Buffer.alloc(1);
  await handle.read(last, 0, 1, size - 1);
  return last[0] !== LINE_END;
}

import type { Clock } from '../../lib/clock.js';
import type { RedisClient } from '../connect/connect.js';

/** One read waits so long for something to come: shorter than what a client takes for a dead connection. */
const BLOCK_MS = 1_500;
const AGAIN_MS = 100;
/** A stream that is woken may be one that was left, and deleted: it is not to stay. As long as streams that are used. */
const WOKEN_MS = 600_000;
const AT_ONCE = 200;
/** The field of an entry that holds a message. */
const FIELD = 'b';

export interface StreamReaderParts {
  /** For blocking reads only. */
  readonly blocking: RedisClient;
  /** For all else. */
  readonly client: RedisClient;
  readonly clock: Clock;
}

interface Stream {
  id: string;
  readonly onMessage: (text: string) => void;
  readonly onFault: (error: unknown) => void;
}

/** Reads streams over one connection, which waits for whichever comes next. In a cluster all of them have to be of one slot. */
export class StreamReader {
  readonly #streams = new Map<string, Stream>();
  /** What the read that waits asks for. */
  #reading: readonly string[] = [];
  #runs = false;
  #closed = false;
  #isFailing = false;

  constructor(private readonly parts: StreamReaderParts) {}

  /** The latest read failed: nothing is heard. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  /** Reads a stream from after an entry on. Fault: something may have been missed, and the stream is read from its beginning. */
  add(key: string, afterId: string, onMessage: (text: string) => void, onFault: (error: unknown) => void): void {
    this.#streams.set(key, { id: afterId, onMessage, onFault });
    if (!this.#runs) void this.#run();
    else this.#wake();
  }

  remove(key: string): void {
    this.#streams.delete(key);
  }

  /** The entry of a stream that was read last; null: none. */
  readTo(key: string): string | null {
    return this.#streams.get(key)?.id ?? null;
  }

  close(): void {
    this.#closed = true;
    this.#streams.clear();
  }

  /** A read that waits knows nothing of a stream that came since: an entry without a message ends it. */
  #wake(): void {
    const key = this.#reading.find((one) => this.#streams.has(one)) ?? this.#reading[0];
    if (key === undefined) return;
    const { client } = this.parts;
    Promise.all([client.xadd(key, '*', 'w', ''), client.pexpire(key, WOKEN_MS)]).catch(() => {
      // The read ends by itself soon.
    });
  }

  async #run(): Promise<void> {
    this.#runs = true;
    while (!this.#closed && this.#streams.size > 0) {
      try {
        await this.#read();
        this.#isFailing = false;
      } catch (error) {
        if (this.#closed) break;
        this.#isFailing = true;
        this.#faulty(error);
        await this.#pause();
      }
    }
    this.#runs = false;
  }

  async #read(): Promise<void> {
    const keys = [...this.#streams.keys()];
    const ids = keys.map((key) => this.#streams.get(key)!.id);
    this.#reading = keys;
    const found = await this.parts.blocking.xread('COUNT', AT_ONCE, 'BLOCK', BLOCK_MS, 'STREAMS', ...keys, ...ids);
    this.#reading = [];
    for (const [key, entries] of found ?? []) for (const [id, fields] of entries) this.#take(key, id, fields);
  }

  #take(key: string, id: string, fields: readonly string[] | null): void {
    const stream = this.#streams.get(key);
    if (stream === undefined) return;
    stream.id = id;
    if (fields?.[0] === FIELD && fields[1] !== undefined) stream.onMessage(fields[1]);
  }

  /** The server may have lost the streams and begun their ids anew. */
  #faulty(error: unknown): void {
    this.#reading = [];
    for (const stream of this.#streams.values()) {
      stream.id = '0';
      stream.onFault(error);
    }
  }

  #pause(): Promise<void> {
    return new Promise((resume) => {
      this.parts.clock.after(AGAIN_MS, resume);
    });
  }
}

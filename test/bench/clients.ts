import { connect, type Socket } from 'node:net';
import { MessageReader } from './http1.js';
import type { Tally } from './load.js';

const START_EVERY_MS = 4;
const START_WITHIN_MS = 30_000;
const EVENT_END = Buffer.from('\n\n');

/** One kept connection that sends one request at a time. A connection that breaks is counted (status 0) and made anew. */
export class Client {
  #socket: Socket | null = null;
  #done: (() => void) | null = null;
  closed = false;

  constructor(
    private readonly port: number,
    private readonly tally: Tally,
    /** Told of each read that held the end of an event, with how many. */
    private readonly onEvents: ((count: number) => void) | null = null,
  ) {}

  /** Resolves when the answer is whole, or the connection broke. */
  request(bytes: Buffer): Promise<void> {
    return new Promise((resolve) => {
      this.#done = resolve;
      (this.#socket ??= this.#open()).write(bytes);
    });
  }

  close(): void {
    this.closed = true;
    this.#socket?.destroy();
  }

  #open(): Socket {
    const socket = connect({ port: this.port, host: '127.0.0.1', noDelay: true });
    const { tally } = this;
    const reader = new MessageReader({
      head: (head) => {
        const status = head.slice(9, 12);
        tally.statuses[status] = (tally.statuses[status] ?? 0) + 1;
      },
      body: (body) => {
        const count = eventsIn(body);
        tally.events += count;
        if (count > 0) this.onEvents?.(count);
      },
      end: () => {
        this.#finish();
      },
    });
    socket.on('data', (chunk) => {
      reader.push(chunk);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#socket = null;
      if (this.#done === null || this.closed) return;
      tally.statuses['0'] = (tally.statuses['0'] ?? 0) + 1;
      this.#finish();
    });
    return socket;
  }

  #finish(): void {
    const done = this.#done;
    this.#done = null;
    this.tally.requests++;
    done?.();
  }
}

function eventsIn(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(EVENT_END); at >= 0; at = bytes.indexOf(EVENT_END, at + 2)) count++;
  return count;
}

/** Streams that run at the same time, begun evenly over one interval so that their events do not come all at once. */
export class Streams {
  readonly tally: Tally = { requests: 0, events: 0, statuses: {} };
  /** Between events of one stream, since `measure`. */
  readonly gapsMs: number[] = [];
  readonly #clients: Client[] = [];
  readonly #started: Promise<unknown>;
  #waiting: number;
  #measuring = false;

  constructor(port: number, count: number, bytes: Buffer, everyMs: number) {
    // Some milliseconds apart: opening hundreds at once is another test than this.
    this.#waiting = count;
    const spreadMs = Math.max(everyMs, count * START_EVERY_MS);
    this.#started = Promise.all(Array.from({ length: count }, (_, i) => this.#begin(port, bytes, (i * spreadMs) / count)));
  }

  /** Resolves when each has sent its first event, or some are silent for so long that they count as failed. */
  async allStarted(): Promise<void> {
    await Promise.race([this.#started, new Promise((resume) => setTimeout(resume, START_WITHIN_MS))]);
    if (this.#waiting > 0) this.tally.statuses['silent'] = this.#waiting;
  }

  measure(): void {
    this.#measuring = true;
  }

  close(): void {
    this.#measuring = false;
    for (const client of this.#clients) client.close();
  }

  #begin(port: number, bytes: Buffer, afterMs: number): Promise<void> {
    return new Promise((started) => {
      let lastMs = 0;
      const client = new Client(port, this.tally, (count) => {
        const nowMs = performance.now();
        if (lastMs === 0) {
          this.#waiting--;
          started();
        } else if (this.#measuring) this.#note(nowMs - lastMs, count);
        lastMs = nowMs;
      });
      this.#clients.push(client);
      // One that ends has failed (they are endless): its status is counted, and it is begun again.
      const begin = async (): Promise<void> => {
        while (!client.closed) await client.request(bytes);
      };
      setTimeout(() => void begin(), afterMs);
    });
  }

  /** Events that came together have no gap between them. */
  #note(gapMs: number, count: number): void {
    this.gapsMs.push(gapMs);
    for (let i = 1; i < count; i++) this.gapsMs.push(0);
  }
}

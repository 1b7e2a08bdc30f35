/**
 * The load generator, a process of its own: takes one task at a time from its parent and answers with what it measured. Raw
 * sockets with prepared requests (see http1.ts), so that it takes little of the machine and loses no time.
 */
import { Client, Streams } from './clients.js';
import { requestBytes, type Answer } from './payloads.js';

export type Task =
  /** Each connection sends the next request when its answer is whole; until the time is over or so many are answered. */
  | { readonly kind: 'closed'; readonly port: number; readonly connections: number; readonly bodyBytes: number; readonly answer: Answer; readonly forMs: number | null; readonly requests: number | null }
  /** Streams that run all the time, and big prompts beside them. Gaps are looked at after `warmMs`. */
  | {
      readonly kind: 'streams';
      readonly port: number;
      readonly streams: number;
      readonly everyMs: number;
      readonly warmMs: number;
      readonly forMs: number;
      readonly bigBodyBytes: number;
      readonly bigEveryMs: number | null;
    }
  /** Ends what a `streams` task left open. */
  | { readonly kind: 'hold'; readonly port: number; readonly streams: number; readonly everyMs: number }
  | { readonly kind: 'release' };

export interface Measured {
  readonly elapsedMs: number;
  readonly requests: number;
  readonly events: number;
  /** Answers by status; 0 stands for connections that broke. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Durations of requests, or gaps between events of one stream. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

let held: Streams | null = null;

async function run(task: Task): Promise<Measured> {
  switch (task.kind) {
    case 'closed':
      return closed(task);
    case 'streams':
      return streams(task);
    case 'hold':
      held = new Streams(task.port, task.streams, requestBytes(1024, { kind: 'stream', events: 1e9, everyMs: task.everyMs }), task.everyMs);
      await held.allStarted();
      return measured(0, held.tally, []);
    case 'release':
      held?.close();
      return measured(0, held?.tally ?? emptyTally(), []);
  }
}

export interface Tally {
  requests: number;
  events: number;
  readonly statuses: Record<string, number>;
}

function emptyTally(): Tally {
  return { requests: 0, events: 0, statuses: {} };
}

async function closed({ port, connections, bodyBytes, answer, forMs, requests }: Extract<Task, { kind: 'closed' }>): Promise<Measured> {
  const tally = emptyTally();
  const timesMs: number[] = [];
  const bytes = requestBytes(bodyBytes, answer);
  const startMs = performance.now();
  const goesOn = (): boolean => (forMs === null || performance.now() - startMs < forMs) && (requests === null || tally.requests + connections <= requests);
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const client = new Client(port, tally);
      do {
        const sentMs = performance.now();
        await client.request(bytes);
        timesMs.push(performance.now() - sentMs);
      } while (goesOn());
      client.close();
    }),
  );
  return measured(performance.now() - startMs, tally, timesMs);
}

async function streams(task: Extract<Task, { kind: 'streams' }>): Promise<Measured> {
  const { port, everyMs, warmMs, forMs, bigBodyBytes, bigEveryMs } = task;
  const running = new Streams(port, task.streams, requestBytes(1024, { kind: 'stream', events: 1e9, everyMs }), everyMs);
  await running.allStarted();
  const stopBig = bigEveryMs === null ? () => undefined : sendEvery(port, requestBytes(bigBodyBytes, { kind: 'json' }), bigEveryMs);
  await pause(warmMs);
  running.measure();
  const eventsBefore = running.tally.events;
  await pause(forMs);
  stopBig();
  running.close();
  return measured(forMs, { ...running.tally, events: running.tally.events - eventsBefore }, running.gapsMs);
}

/** One request each `everyMs`, whether or not those before are answered. */
function sendEvery(port: number, bytes: Buffer, everyMs: number): () => void {
  const free: Client[] = [];
  const timer = setInterval(() => {
    const client = free.pop() ?? new Client(port, emptyTally());
    void client.request(bytes).then(() => free.push(client));
  }, everyMs);
  return () => {
    clearInterval(timer);
    for (const client of free) client.close();
  };
}

function measured(elapsedMs: number, tally: Tally, timesMs: number[]): Measured {
  const sorted = Float64Array.from(timesMs).sort();
  const quantile = (q: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;
  return { elapsedMs, ...tally, p50Ms: quantile(0.5), p99Ms: quantile(0.99) };
}

function pause(ms: number): Promise<void> {
  return new Promise((resume) => setTimeout(resume, ms));
}

process.on('message', (task: Task) => {
  void run(task).then((result) => process.send?.(result));
});
process.on('disconnect', () => process.exit());

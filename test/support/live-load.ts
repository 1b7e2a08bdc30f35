import { setTimeout as delay } from 'node:timers/promises';
import { Random } from '../../src/sim/random.js';
import { chat, JSON_HEADERS, readAnswer, type Answer, type LoadClient } from './clients.js';
import type { Sent } from './fleet-load.js';

/** What became of a request for its client. `ended`: its pool took the room back. */
export type Outcome = 'done' | 'refused' | 'ended' | 'failed';

/** A streamed request of an experiment, as its client saw it. Its model is its own. */
export interface LiveRequest extends Sent {
  readonly tenant: string;
  outcome: Outcome | null;
  /** As the answer says it; NaN where it does not. */
  waitedMs: number;
}

export interface Arrival {
  readonly atMs: number;
  readonly tenant: string;
}

/** Independent arrivals at so many a second of each tenant, in order. Equal seeds give equal times. */
export function poissonArrivals(perSecond: Readonly<Record<string, number>>, durationMs: number, seed: number): readonly Arrival[] {
  return Object.entries(perSecond).flatMap(([tenant, rate]) => arrivalsOf(tenant, rate, durationMs, new Random(seed, tenant))).sort((a, b) => a.atMs - b.atMs);
}

function arrivalsOf(tenant: string, perSecond: number, durationMs: number, random: Random): Arrival[] {
  const arrivals: Arrival[] = [];
  for (let atMs = random.exponential(1000 / perSecond); atMs < durationMs; atMs += random.exponential(1000 / perSecond)) arrivals.push({ atMs, tenant });
  return arrivals;
}

/** Sends each when it is due, whatever the answers to others do; returns once all are over. */
export async function play(client: LoadClient, arrivals: readonly Arrival[], outputTokens: number): Promise<readonly LiveRequest[]> {
  const requests: LiveRequest[] = [];
  const beganMs = Date.now();
  for (const { atMs, tenant } of arrivals) {
    const waitMs = beganMs + atMs - Date.now();
    if (waitMs > 0) await delay(waitMs);
    requests.push(send(client, tenant, outputTokens));
  }
  await Promise.all(requests.map(({ over }) => over));
  return requests;
}

let sentSoFar = 0;

function send(client: LoadClient, tenant: string, outputTokens: number): LiveRequest {
  const model = `live-${++sentSoFar}`;
  let over!: () => void;
  const request: LiveRequest = {
    ...{ model, tenant, stream: true, status: null, whole: false, outcome: null, waitedMs: NaN, startedAtMs: Date.now(), endedAtMs: 0 },
    over: new Promise((resolve) => (over = resolve)),
  };
  void follow(client, request, chat({ model, stream: true, max_tokens: outputTokens })).then(over);
  return request;
}

async function follow(client: LoadClient, request: LiveRequest, body: string): Promise<void> {
  try {
    const incoming = await client.open(body, JSON_HEADERS(`key-${request.tenant}`));
    request.status = incoming.statusCode ?? 0;
    request.waitedMs = Number(incoming.headers['x-tokenweir-wait-ms'] ?? NaN);
    const answer = await readAnswer(incoming);
    request.whole = answer.body.includes('[DONE]');
    request.outcome = outcomeOf(answer, request.whole);
  } catch {
    // A stream that is ended where only chunks are answered is a broken transfer.
    request.outcome = request.status === 200 ? 'ended' : 'failed';
    request.status ??= 0;
  }
  request.endedAtMs = Date.now();
}

function outcomeOf({ status, body }: Answer, whole: boolean): Outcome {
  if (status === 200) return whole ? 'done' : 'ended';
  if (status !== 429) return 'failed';
  // One that was dispatched already, and whose answer had not begun.
  return body.includes('was ended before its answer began') ? 'ended' : 'refused';
}

import type { LedgerEvent } from '../../src/domain/lease.js';
import type { RecordedRequest } from '../../src/upstream/record.js';
import { chat, JSON_HEADERS, readAnswer, type LoadClient } from './clients.js';
import type { Fleet } from './fleet.js';

/** One request of a load. Its model is its own, so that client, ledger and upstream can be laid side by side. */
export interface Sent {
  readonly model: string;
  readonly stream: boolean;
  /** Null while it runs; 0: no answer came. */
  status: number | null;
  /** The answer came to its end. */
  whole: boolean;
  readonly startedAtMs: number;
  endedAtMs: number;
  readonly over: Promise<void>;
}

let sentSoFar = 0;

/** Sends a request without waiting for its answer. */
export function send(client: LoadClient, key: string, more: Record<string, unknown>): Sent {
  const model = `sim-${++sentSoFar}`;
  const stream = more['stream'] === true;
  let over!: () => void;
  const sent: Sent = { model, stream, status: null, whole: false, startedAtMs: Date.now(), endedAtMs: 0, over: new Promise((resolve) => (over = resolve)) };
  void answer(client, key, chat({ ...more, model }), sent).then(over);
  return sent;
}

async function answer(client: LoadClient, key: string, body: string, sent: Sent): Promise<void> {
  try {
    const incoming = await client.open(body, JSON_HEADERS(key));
    sent.status = incoming.statusCode ?? 0;
    const { body: text } = await readAnswer(incoming);
    sent.whole = sent.stream ? text.includes('[DONE]') : true;
  } catch {
    sent.status ??= 0;
  }
  sent.endedAtMs = Date.now();
}

/** What ledger and upstream say of one request. */
export interface Account {
  readonly sent: Sent;
  /** Null where it never came to the upstream. */
  readonly upstream: RecordedRequest | null;
  readonly events: readonly LedgerEvent[];
  /** Of all its events together, less what the upstream counted, in tokens. */
  readonly tooMuch: { readonly input: number; readonly output: number };
}

/** Lays side by side what each request was to the client, in the ledger, and at the upstream. */
export async function accountsOf(fleet: Fleet, processor: number, sent: readonly Sent[]): Promise<readonly Account[]> {
  const events = await fleet.ledger(processor);
  const requests = new Map(fleet.stack.upstream.requests.map((request) => [modelOf(request), request]));
  return sent.map((one) => {
    const upstream = requests.get(one.model) ?? null;
    const own = events.filter(({ model }) => model === one.model);
    const input = own.reduce((sum, { inputTokens }) => sum + inputTokens, 0) - (upstream?.promptTokens ?? 0);
    const output = own.reduce((sum, { outputTokens }) => sum + outputTokens, 0) - (upstream?.completionTokens ?? 0);
    return { sent: one, upstream, events: own, tooMuch: { input, output } };
  });
}

function modelOf({ body }: RecordedRequest): string {
  return (JSON.parse(body.toString()) as { model: string }).model;
}

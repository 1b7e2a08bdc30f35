import type { PoolSettings } from '../domain/pool.js';
import { Deque } from './deque.js';
import type { PolicyHost, SimPolicy } from './policy.js';
import { QueueingPolicy, type Order } from './queueing.js';
import type { SimRequest } from './request.js';

interface Client {
  counter: number;
  /** Prompt's work of a request is counted at dispatch, output as it is made: what was counted of those that run. */
  readonly queue: Deque<SimRequest>;
}

/**
 * Virtual token counters (Sheng et al., "Fairness in Serving Large Language Models", OSDI '24, algorithm 2), in front of the engine: of the
 * clients with waiters the one with the smallest counter is next; who comes back is lifted to the smallest counter of those that wait.
 * Input counts at dispatch, output as processors report it (once a second, and at the end). Weights of tokens: the pool's prefill weight
 * and 1 (the paper: 1 and 2). Clients are entitlements; no classes, no baselines, no weights.
 */
export function vtcPolicy(settings: PoolSettings, host: PolicyHost, prefillWeight: number): SimPolicy {
  return new QueueingPolicy(settings, counterOrder(prefillWeight), host);
}

function counterOrder(prefillWeight: number): Order {
  const clients = new Map<string, Client>();
  const waiting = new Set<Client>();
  const counted = new WeakMap<SimRequest, number>();
  let last: Client | null = null;
  const clientOf = ({ parts }: SimRequest): Client => {
    let client = clients.get(parts.entitlement.id);
    if (client === undefined) clients.set(parts.entitlement.id, (client = { counter: 0, queue: new Deque() }));
    return client;
  };
  const count = (request: SimRequest, work: number): void => {
    clientOf(request).counter += work - (counted.get(request) ?? 0);
    counted.set(request, work);
  };
  const smallest = (): Client | null => {
    let best: Client | null = null;
    for (const client of waiting) if (best === null || client.counter < best.counter) best = client;
    return best;
  };
  const headOf = (client: Client): SimRequest | undefined => {
    let head = client.queue.peek();
    for (; head !== undefined && head.state !== 'asked'; head = client.queue.peek()) client.queue.shift();
    if (head === undefined) waiting.delete(client);
    return head;
  };
  return {
    add: (request) => {
      const client = clientOf(request);
      if (!waiting.has(client)) client.counter = Math.max(client.counter, (smallest() ?? last)?.counter ?? 0);
      waiting.add(client);
      client.queue.push(request);
    },
    peek: () => {
      for (let best = smallest(); best !== null; best = smallest()) {
        const head = headOf(best);
        if (head !== undefined) return head;
      }
      return undefined;
    },
    shift: () => {
      last = smallest()!;
      last.queue.shift();
      headOf(last);
    },
    dispatched: (request) => count(request, prefillWeight * (request.promptTokens - request.cachedTokens)),
    settled: (request, work) => count(request, work),
    counted: (request, work) => count(request, Math.max(work, counted.get(request) ?? 0)),
  };
}

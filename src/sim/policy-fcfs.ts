import type { PoolSettings } from '../domain/pool.js';
import { Deque } from './deque.js';
import type { PolicyHost, SimPolicy } from './policy.js';
import { QueueingPolicy, type Order } from './queueing.js';
import type { SimRequest } from './request.js';

/** First come first served, with the bounds and hold limits of the pool: who comes before whom is the only thing that differs. */
export function fcfsPolicy(settings: PoolSettings, host: PolicyHost): SimPolicy {
  return new QueueingPolicy(settings, arrivalOrder(), host);
}

function arrivalOrder(): Order {
  const queue = new Deque<SimRequest>();
  return {
    add: (request) => queue.push(request),
    peek: () => {
      let head = queue.peek();
      for (; head !== undefined && head.state !== 'asked'; head = queue.peek()) queue.shift();
      return head;
    },
    shift: () => void queue.shift(),
    dispatched: () => undefined,
    settled: () => undefined,
    counted: () => undefined,
  };
}

/** No admission at all: the engine takes everything, and queues what it can't run. */
export function noPolicy(host: PolicyHost): SimPolicy {
  return {
    ask: (request) => host.dispatch(request),
    settle: () => undefined,
    leave: () => undefined,
    renew: () => undefined,
    configure: () => undefined,
    tick: () => undefined,
    nextAtMs: Infinity,
    waiting: 0,
    snapshot: () => null,
  };
}

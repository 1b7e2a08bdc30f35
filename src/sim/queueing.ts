import type { PoolSettings, PoolSnapshot } from '../domain/pool.js';
import type { PolicyHost, SimPolicy } from './policy.js';
import type { SimRequest } from './request.js';
import { Room } from './room.js';
import { SequenceHeap, type HeapItem } from './sequence-heap.js';
import { ServedRate } from './served-rate.js';

/** In which order those who wait are served: what makes one queueing policy differ from another. */
export interface Order {
  add(request: SimRequest): void;
  /** Who is next; requests that are not in state `asked` any more are to be dropped on the way. */
  peek(): SimRequest | undefined;
  /** Takes the one that `peek` gave. */
  shift(): void;
  dispatched(request: SimRequest): void;
  settled(request: SimRequest, work: number): void;
  /** Work of a running request until now. */
  counted(request: SimRequest, work: number): void;
}

interface Deadline extends HeapItem {
  readonly request: SimRequest;
}

/** One queue for a pool, with the bounds and hold limits of its configuration, in an order that is given. */
export class QueueingPolicy implements SimPolicy {
  nextAtMs = Infinity;
  waiting = 0;
  readonly #host: PolicyHost;
  readonly #order: Order;
  readonly #room: Room;
  readonly #deadlines = new SequenceHeap<Deadline>();
  readonly #served: ServedRate;
  #settings: PoolSettings;
  #waitingBytes = 0;
  #waitingWork = 0;

  constructor(settings: PoolSettings, order: Order, host: PolicyHost) {
    this.#settings = settings;
    this.#host = host;
    this.#order = order;
    this.#room = new Room(settings, 0);
    this.#served = new ServedRate();
  }

  ask(request: SimRequest, nowMs: number): void {
    if (this.#room.isTooSmallFor(request)) return this.#host.refuse(request, 'pool_too_small', 0);
    const { maxWaitMs, bytes } = request.parts;
    if (this.waiting === 0 && this.#room.waitMs(request, nowMs) === 0) return this.#dispatch(request, nowMs);
    const full = this.waiting + 1 > this.#settings.maxWaiting || this.#waitingBytes + bytes > this.#settings.maxWaitingBytes;
    if (maxWaitMs === 0 || full) return this.#host.refuse(request, maxWaitMs === 0 ? 'pool_busy' : 'queue_full', this.#neededWaitMs(request, nowMs));
    this.#enqueue(request);
    this.#pump(nowMs);
  }

  settle(request: SimRequest, work: number, nowMs: number): void {
    this.#room.giveBack(request, work, nowMs);
    this.#served.add(work - request.expectedWork, nowMs);
    this.#order.settled(request, work);
    this.#pump(nowMs);
  }

  leave(request: SimRequest, nowMs: number): void {
    this.#forget(request);
    this.#pump(nowMs);
  }

  renew(_processor: number, requests: ReadonlySet<SimRequest>, nowMs: number): void {
    for (const request of requests) if (request.state === 'running') this.#order.counted(request, this.#host.workOf(request, nowMs));
  }

  configure(settings: PoolSettings, nowMs: number): void {
    this.#settings = settings;
    this.#room.configure(settings, nowMs);
    this.#pump(nowMs);
  }

  tick(nowMs: number): void {
    this.#pump(nowMs);
  }

  snapshot(): PoolSnapshot | null {
    return null;
  }

  #enqueue(request: SimRequest): void {
    this.waiting++;
    this.#waitingBytes += request.parts.bytes;
    this.#waitingWork += request.expectedWork;
    this.#order.add(request);
    this.#deadlines.add({ request, heapIndex: -1, heapKey: 0 }, request.askedMs + request.parts.maxWaitMs);
  }

  #forget(request: SimRequest): void {
    this.waiting--;
    this.#waitingBytes -= request.parts.bytes;
    this.#waitingWork -= request.expectedWork;
    request.state = 'over';
  }

  #dispatch(request: SimRequest, nowMs: number): void {
    this.#room.take(request, nowMs);
    this.#served.add(request.expectedWork, nowMs);
    this.#order.dispatched(request);
    this.#host.dispatch(request);
  }

  #pump(nowMs: number): void {
    this.#expire(nowMs);
    this.nextAtMs = this.#deadlines.peek()?.heapKey ?? Infinity;
    for (let head = this.#order.peek(); head !== undefined; head = this.#order.peek()) {
      const waitMs = this.#room.waitMs(head, nowMs);
      // Head of the line: nobody passes it, so that large ones are not starved by small ones.
      if (waitMs > 0) {
        this.nextAtMs = Math.min(this.nextAtMs, nowMs + waitMs + 1e-6);
        return;
      }
      this.#order.shift();
      this.#forget(head);
      this.#dispatch(head, nowMs);
    }
  }

  #expire(nowMs: number): void {
    for (let first = this.#deadlines.peek(); first !== undefined; first = this.#deadlines.peek()) {
      const { request } = first;
      const waits = request.state === 'asked';
      if (waits && first.heapKey > nowMs) return;
      this.#deadlines.remove(first);
      if (!waits) continue;
      this.#forget(request);
      this.#host.refuse(request, 'queue_timeout', this.#neededWaitMs(request, nowMs));
    }
  }

  /** Work ahead of it and its own over the rate at which work is served: between 1 s and 1 h. */
  #neededWaitMs(request: SimRequest, nowMs: number): number {
    const rate = Math.max(this.#served.perSecond(nowMs), 1);
    return Math.min(3_600_000, Math.max(1000, ((this.#waitingWork + request.expectedWork) / rate) * 1000));
  }
}

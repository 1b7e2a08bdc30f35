import type { PoolAnswer, PoolEvent, PoolRenewal, PoolSettings, PoolSnapshot } from '../domain/pool.js';
import { PoolScheduler } from '../pool/scheduler.js';
import type { PolicyHost, SimPolicy } from './policy.js';
import type { SimRequest } from './request.js';

/** The scheduler that runs in production, on virtual time. It counts in whole milliseconds. */
export class TokenweirPolicy implements SimPolicy {
  readonly #scheduler: PoolScheduler;
  readonly #host: PolicyHost;
  /** Waiting or running. */
  readonly #requests = new Map<string, SimRequest>();
  readonly #kvBytesPerToken: number;
  #settings: PoolSettings;
  waiting = 0;
  nextAtMs = Infinity;

  constructor(settings: PoolSettings, kvBytesPerToken: number, host: PolicyHost) {
    this.#settings = settings;
    this.#kvBytesPerToken = kvBytesPerToken;
    this.#host = host;
    this.#scheduler = new PoolScheduler(settings.id);
  }

  ask(request: SimRequest, nowMs: number): void {
    const { entitlement, work, bytes, maxWaitMs } = request.parts;
    this.#requests.set(request.leaseId, request);
    const demand = { work: request.expectedWork, kvBytes: request.kvBytes, slots: 1 };
    const { leaseId, processor } = request;
    const ask = { leaseId, owner: ownerOf(processor), pool: this.#settings, entitlement, demand, work, bytes, maxWaitMs, nowMs: Math.floor(nowMs) };
    this.#answered(request, this.#scheduler.ask(ask));
    this.#after(nowMs);
  }

  settle(request: SimRequest, work: number, nowMs: number): void {
    this.#requests.delete(request.leaseId);
    this.#scheduler.settle(request.leaseId, work, Math.floor(nowMs));
    this.#after(nowMs);
  }

  leave(request: SimRequest, nowMs: number): void {
    this.waiting--;
    this.#requests.delete(request.leaseId);
    this.#scheduler.cancel(request.leaseId, Math.floor(nowMs));
    this.#after(nowMs);
  }

  renew(processor: number, requests: ReadonlySet<SimRequest>, nowMs: number): void {
    const renewals: PoolRenewal[] = [];
    for (const request of requests) renewals.push(request.state === 'running' ? this.#renewal(request, nowMs) : { leaseId: request.leaseId, work: 0, kvBytes: 0 });
    this.#scheduler.renew(`p${processor}`, renewals, Math.floor(nowMs));
    this.#after(nowMs);
  }

  configure(settings: PoolSettings, nowMs: number): void {
    this.#settings = settings;
    this.tick(nowMs);
  }

  tick(nowMs: number): void {
    this.#scheduler.tick(this.#settings, Math.floor(nowMs));
    this.#after(nowMs);
  }

  snapshot(nowMs: number): PoolSnapshot {
    return this.#scheduler.snapshot(Math.floor(nowMs));
  }

  #answered(request: SimRequest, answer: PoolAnswer): void {
    switch (answer.kind) {
      case 'dispatched':
        return this.#host.dispatch(request);
      case 'waiting':
        this.waiting++;
        return;
      case 'refused':
        this.#requests.delete(request.leaseId);
        return this.#host.refuse(request, answer.reason, answer.neededWaitMs);
      case 'unavailable':
        throw new Error('the scheduler has no store that could be away');
    }
  }

  #after(nowMs: number): void {
    for (const { event } of this.#scheduler.takeEvents()) this.#happened(event, nowMs);
    const nextAtMs = this.#scheduler.nextAtMs(Math.floor(nowMs));
    // Never in the past, nor at once again for ever.
    this.nextAtMs = nextAtMs === null ? Infinity : Math.max(nextAtMs, Math.floor(nowMs) + 1);
  }

  #happened(event: PoolEvent, nowMs: number): void {
    const request = this.#requests.get(event.leaseId);
    if (request === undefined) return;
    switch (event.kind) {
      case 'granted':
        this.waiting--;
        // Taken up.
        this.#scheduler.renew(ownerOf(request.processor), [this.#renewal(request, nowMs)], Math.floor(nowMs));
        return this.#host.dispatch(request);
      case 'refused':
        this.waiting--;
        this.#requests.delete(event.leaseId);
        return this.#host.refuse(request, event.reason, event.neededWaitMs);
      case 'end_stream':
        return this.#host.endStream(request, event.why);
    }
  }

  #renewal(request: SimRequest, nowMs: number): PoolRenewal {
    // Above 0: it runs, also where no token has come yet.
    const work = Math.max(1, Math.floor(this.#host.workOf(request, nowMs)));
    return { leaseId: request.leaseId, work, kvBytes: Math.floor((request.promptTokens + request.made) * this.#kvBytesPerToken) };
  }
}

function ownerOf(processor: number): string {
  return `p${processor}`;
}

import type { PoolSettings } from '../domain/pool.js';
import { RateBucket } from './rate-bucket.js';
import type { SimRequest } from './request.js';

/** Capacity of a pool for the policies that Tokenweir is compared with: the same slots, KV bytes and rates, and nobody's share of them. */
export class Room {
  #settings: PoolSettings;
  #slots = 0;
  #kvBytes = 0;
  #tokens: RateBucket | null;
  #requests: RateBucket | null;

  constructor(settings: PoolSettings, nowMs: number) {
    this.#settings = settings;
    const { tokensPerSecond, requestsPerSecond } = settings.capacity;
    this.#tokens = tokensPerSecond === null ? null : new RateBucket(tokensPerSecond, settings.burstSeconds, nowMs);
    this.#requests = requestsPerSecond === null ? null : new RateBucket(requestsPerSecond, settings.burstSeconds, nowMs);
  }

  configure(settings: PoolSettings, nowMs: number): void {
    this.#settings = settings;
    this.#tokens?.setRate(settings.capacity.tokensPerSecond ?? Infinity, nowMs);
    this.#requests?.setRate(settings.capacity.requestsPerSecond ?? Infinity, nowMs);
  }

  /** Milliseconds until it fits by time alone: 0 now, Infinity not before something ends. */
  waitMs(request: SimRequest, nowMs: number): number {
    const { slots, kvBytes } = this.#settings.capacity;
    if (slots !== null && this.#slots + 1 > slots) return Infinity;
    if (kvBytes !== null && this.#kvBytes + request.kvBytes > kvBytes) return Infinity;
    return Math.max(this.#tokens?.waitMs(request.expectedWork, nowMs) ?? 0, this.#requests?.waitMs(1, nowMs) ?? 0);
  }

  /** Whether it could ever fit. */
  isTooSmallFor(request: SimRequest): boolean {
    const { slots, kvBytes } = this.#settings.capacity;
    return (slots !== null && slots < 1) || (kvBytes !== null && request.kvBytes > kvBytes);
  }

  take(request: SimRequest, nowMs: number): void {
    this.#slots += 1;
    this.#kvBytes += request.kvBytes;
    this.#tokens?.take(request.expectedWork, nowMs);
    this.#requests?.take(1, nowMs);
  }

  giveBack(request: SimRequest, work: number, nowMs: number): void {
    this.#slots -= 1;
    this.#kvBytes -= request.kvBytes;
    this.#tokens?.take(work - request.expectedWork, nowMs);
  }
}

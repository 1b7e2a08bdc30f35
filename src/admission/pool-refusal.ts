import type { PoolDemand, PoolRefusalReason, PoolSettings } from '../domain/pool.js';
import type { LimitRefusal, PlainRefusal, Refusal, TooLargeRefusal } from '../domain/refusal.js';

/** What a pool refused, and how it stood. */
export interface PoolRefused {
  readonly reason: PoolRefusalReason;
  readonly waitedMs: number;
  readonly neededWaitMs: number;
  /** Requests that waited there. */
  readonly waiting: number;
}

interface Amounts {
  readonly unit: string;
  readonly limitValue: number;
  readonly used: number;
  readonly needed: number;
}

/** The refusal of a pool, as its client is told: 400 for what never fits, else 429 with an estimate of when it would have been served. */
export function poolRefusal(settings: PoolSettings, demand: PoolDemand, refused: PoolRefused, requestId: string): Refusal {
  return refused.reason === 'pool_too_small' ? tooSmall(settings, demand, requestId) : limited(settings, demand, refused, refused.reason, requestId);
}

/** Held when the processor had to stop: it never left for the upstream, and may be sent again at once. */
export function drainingRefusal(requestId: string): PlainRefusal {
  return { kind: 'draining', field: null, message: 'The processor that held this request stops; it was not sent to the model: send it again.', requestId };
}

function limited(settings: PoolSettings, demand: PoolDemand, refused: PoolRefused, limit: LimitRefusal['limit'] & PoolRefusalReason, requestId: string): LimitRefusal {
  const { unit, ...amounts } = limit === 'queue_full' ? queueAmounts(settings, refused) : roomAmounts(settings, demand);
  const message = `${whyLimited(limit, settings, refused)}; ${amounts.needed} of ${amounts.limitValue} ${unit} needed; retry in about ${seconds(refused.neededWaitMs)} s`;
  return { kind: 'limited', requestId, message, limit, scope: { kind: 'pool', id: settings.id }, ...amounts, retryAfterMs: refused.neededWaitMs, exact: false };
}

function whyLimited(limit: LimitRefusal['limit'] & PoolRefusalReason, { id }: PoolSettings, { waitedMs, neededWaitMs, waiting }: PoolRefused): string {
  switch (limit) {
    case 'pool_busy':
      return waitedMs > 0 ? `pool ${id} has no room any more for what waited ${nearest(waitedMs)} s` : `pool ${id} has no room now, and this request does not wait`;
    case 'queue_full':
      return `the queue of pool ${id} is full: ${waiting} requests wait`;
    case 'queue_timeout':
      return `pool ${id} had no room within the ${nearest(waitedMs)} s that this request waited: it would have needed about ${seconds(waitedMs + neededWaitMs)} s`;
  }
}

function queueAmounts({ maxWaiting }: PoolSettings, { waiting }: PoolRefused): Amounts {
  return { unit: 'places', limitValue: maxWaiting, used: waiting, needed: 1 };
}

/** In the unit in which the pool is bounded. What is free may be kept for others: to this request all of it is in use. */
function roomAmounts({ capacity: { slots, tokensPerSecond, kvBytes, requestsPerSecond } }: PoolSettings, demand: PoolDemand): Amounts {
  const full = (unit: string, limitValue: number, needed: number): Amounts => ({ unit, limitValue, used: limitValue, needed });
  if (slots !== null) return full('slots', slots, demand.slots);
  if (tokensPerSecond !== null) return full('tokens a second', tokensPerSecond, demand.work);
  if (kvBytes !== null) return full('bytes of KV cache', kvBytes, demand.kvBytes);
  return full('requests a second', requestsPerSecond ?? 0, 1);
}

function tooSmall({ id, capacity: { slots, kvBytes } }: PoolSettings, demand: PoolDemand, requestId: string): TooLargeRefusal {
  const { unit, limitValue, needed, remedy } =
    slots !== null && demand.slots > slots
      ? { unit: 'answers at one time', limitValue: slots, needed: demand.slots, remedy: 'ask for fewer answers' }
      : { unit: 'bytes of KV cache', limitValue: kvBytes ?? 0, needed: demand.kvBytes, remedy: 'ask for less output, fewer answers or a shorter prompt' };
  const message = `The request needs ${needed} ${unit}, and pool ${id} has ${limitValue} in all: ${remedy}.`;
  return { kind: 'too_large', requestId, message, limit: 'request_too_large', scope: { kind: 'pool', id }, limitValue, used: 0, needed };
}

/** Rounded up to a tenth, so that nobody who goes by the text comes too early. */
function seconds(ms: number): string {
  return String(Math.ceil(ms / 100) / 10);
}

/** What is over, to the nearest tenth: a hold of 3 s that ended a millisecond late was 3 s. */
function nearest(ms: number): string {
  return String(Math.round(ms / 100) / 10);
}

import type { PoolAsk, PoolEvent, PoolRenewal } from '../../domain/pool.js';
import type { Request, ToldLease } from './messages.js';

/** `ends`: its end was told, and no keeper confirmed that yet. */
export type LeaseState = 'asking' | 'waiting' | 'running' | 'ends';

export interface OwnLease {
  readonly ask: PoolAsk;
  readonly askedMs: number;
  state: LeaseState;
  /** Null: not dispatched. */
  ranMs: number | null;
  /** What its owner told last. */
  work: number;
  kvBytes: number;
  /** It is in this processor's share, and no keeper confirmed that it knows it. */
  inShare: boolean;
}

/** Of leases whose end no keeper confirms the oldest are forgotten: nobody renews them, so they lapse where they are known. */
const MAX_ENDING = 20_000;

/** What this processor has asked of a pool and did not end: its own knowledge, whoever decides. */
export class OwnLeases {
  readonly #leases = new Map<string, OwnLease>();
  readonly #ending = new Set<string>();

  get size(): number {
    return this.#leases.size;
  }

  get(leaseId: string): OwnLease | undefined {
    return this.#leases.get(leaseId);
  }

  values(): IterableIterator<OwnLease> {
    return this.#leases.values();
  }

  begin(ask: PoolAsk, nowMs: number): OwnLease {
    const known = this.#leases.get(ask.leaseId);
    if (known !== undefined) return known;
    const lease: OwnLease = { ask, askedMs: nowMs, state: 'asking', ranMs: null, work: 0, kvBytes: 0, inShare: false };
    this.#leases.set(ask.leaseId, lease);
    return lease;
  }

  runs(lease: OwnLease, nowMs: number): void {
    if (lease.state === 'ends') return;
    lease.state = 'running';
    lease.ranMs ??= nowMs;
  }

  renewed({ leaseId, work, kvBytes }: PoolRenewal): void {
    const lease = this.#leases.get(leaseId);
    if (lease === undefined || work + kvBytes <= 0) return;
    lease.work = Math.max(lease.work, work);
    lease.kvBytes = Math.max(lease.kvBytes, kvBytes);
  }

  /** Its end is told; it is remembered until a keeper confirms that. */
  ends(lease: OwnLease): void {
    lease.state = 'ends';
    this.#ending.add(lease.ask.leaseId);
    if (this.#ending.size <= MAX_ENDING) return;
    for (const oldest of this.#ending) {
      this.forget(oldest);
      return;
    }
  }

  forget(leaseId: string): void {
    this.#leases.delete(leaseId);
    this.#ending.delete(leaseId);
  }

  /** A keeper told; false: it is news of what is over, or known. */
  heard(event: PoolEvent, nowMs: number): boolean {
    const lease = this.#leases.get(event.leaseId);
    if (lease === undefined || lease.state === 'ends') return event.kind === 'end_stream' && lease === undefined;
    if (event.kind === 'end_stream') return true;
    if (lease.state === 'running') return false;
    if (event.kind === 'granted') this.runs(lease, nowMs);
    else this.forget(event.leaseId);
    return true;
  }
}

/** Leases in one message. */
const TOLD_AT_ONCE = 200;

/** Leases as they are told to a keeper; `all`: the number of a registration of all leases, or null. */
export function registrations(leases: readonly OwnLease[], all: number | null, nowMs: number): Request[] {
  const told = leases.map((lease) => toldOf(lease, nowMs));
  const requests: Request[] = [];
  while (told.length > TOLD_AT_ONCE) requests.push({ kind: 'register', leases: told.splice(0, TOLD_AT_ONCE), all: null, nowMs });
  if (told.length > 0 || all !== null) requests.push({ kind: 'register', leases: told, all, nowMs });
  return requests;
}

/** As it is told to a keeper. What is asked for right now is asked again instead. */
function toldOf({ ask, askedMs, ranMs, work, kvBytes, state }: OwnLease, nowMs: number): ToldLease {
  return { ask, askedAgoMs: nowMs - askedMs, ranAgoMs: ranMs === null ? null : nowMs - ranMs, work, kvBytes, ends: state === 'ends' };
}

import type { Store } from '../../../../src/domain/store.js';
import type { Clock } from '../../../../src/lib/clock.js';

/**
 * What becomes of a call: `up` is answered; `refuses` fails at once; `deaf` never arrives, and is never answered; `mute` is done, and its answer
 * lost; `frozen` waits, and is done when the store thaws, if nobody else has reached it before; `slow` is done and answered late.
 */
export type Condition = 'up' | 'refuses' | 'deaf' | 'mute' | 'frozen' | { readonly slowMs: number };

/** A shared store with a scripted connection before it. */
export class FlakyStore {
  condition: Condition = 'up';
  /** Names of the calls that were made, in order. */
  readonly calls: string[] = [];
  readonly store: Store;
  readonly #frozen: (() => void)[] = [];

  constructor(
    private inner: Store,
    private readonly clock: Clock,
  ) {
    const call = <T>(name: string, work: () => Promise<T>): Promise<T> => this.#call(name, work);
    this.store = {
      reserve: (request) => call('reserve', () => this.inner.reserve(request)),
      renew: (renewals, nowMs) => call('renew', () => this.inner.renew(renewals, nowMs)),
      settle: (id, consumed, event, nowMs) => call('settle', () => this.inner.settle(id, consumed, event, nowMs)),
      cancel: (id, nowMs) => call('cancel', () => this.inner.cancel(id, nowMs)),
      reap: (nowMs) => call('reap', () => this.inner.reap(nowMs)),
      heartbeat: (owner, nowMs) => call('heartbeat', () => this.inner.heartbeat(owner, nowMs)),
      snapshot: (buckets, nowMs) => call('snapshot', () => this.inner.snapshot(buckets, nowMs)),
      isIdle: (tenantId, nowMs) => call('isIdle', () => this.inner.isIdle(tenantId, nowMs)),
      recentEvents: (limit) => call('recentEvents', () => this.inner.recentEvents(limit)),
      totalsIn: (period) => call('totalsIn', () => this.inner.totalsIn(period)),
      pendingEvents: (limit) => call('pendingEvents', () => this.inner.pendingEvents(limit)),
      acknowledgeEvents: (events) => call('acknowledgeEvents', () => this.inner.acknowledgeEvents(events)),
      saveLearned: (states) => call('saveLearned', () => this.inner.saveLearned(states)),
      loadLearned: () => call('loadLearned', () => this.inner.loadLearned()),
      onCapacityFreed: (listener) => this.inner.onCapacityFreed(listener),
      close: async () => undefined,
    };
  }

  /** Another server answers from now on: restarted empty, or failed over. */
  replaceBy(inner: Store): void {
    this.inner = inner;
  }

  /** What lay in its buffers is done now, whoever waits for it. */
  thaw(): void {
    this.condition = 'up';
    for (const work of this.#frozen.splice(0)) work();
  }

  count(name: string): number {
    return this.calls.filter((call) => call === name).length;
  }

  #call<T>(name: string, work: () => Promise<T>): Promise<T> {
    this.calls.push(name);
    const never = (): Promise<T> => new Promise(() => undefined);
    const { condition } = this;
    switch (condition) {
      case 'up':
        return work();
      case 'refuses':
        return Promise.reject(new Error('ECONNREFUSED'));
      case 'deaf':
        return never();
      case 'mute':
        return work().then(never, never);
      case 'frozen':
        return new Promise((resolve, reject) => this.#frozen.push(() => void work().then(resolve, reject)));
      default:
        return new Promise((resolve, reject) => {
          this.clock.after(condition.slowMs, () => void work().then(resolve, reject));
        });
    }
  }
}

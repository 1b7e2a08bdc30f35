import type { OnStoreFailure } from '../domain/store-settings.js';
import type { Log } from './log.js';
import type { Metrics } from './metrics.js';

/** What happens between a processor and its shared store. */
export interface StoreTold {
  connection(state: 'connecting' | 'ready' | 'away' | 'closed', fault: string | null): void;
  misconfigured(advice: string): void;
  storeAway(error: unknown): void;
  storeBack(awayMs: number): void;
  decidedAway(how: OnStoreFailure): void;
  journal(size: { readonly entries: number; readonly bytes: number; readonly dropped: number }): void;
  storeFault(error: unknown): void;
  eventsLost(events: number): void;
  layout(newer: string | null): void;
}

/** Turns that into metrics and log lines. Changes are logged, single requests and calls are counted. */
export function createStoreObserver({ metrics, log }: { readonly metrics: Metrics; readonly log: Log }): StoreTold {
  let dropped = 0;
  return {
    connection: (state, fault) => {
      metrics.storeConnected(state === 'ready');
      if (state === 'ready') log.info('connected to the store');
      else if (state !== 'closed') log.warn(`not connected to the store: ${fault ?? 'the connection ended'}`);
    },
    misconfigured: (advice) => {
      log.warn(advice);
    },
    storeAway: (error) => {
      metrics.storeAway(true);
      log.error('the store is away: requests are decided without it', error);
    },
    storeBack: (awayMs) => {
      metrics.storeAway(false);
      log.info('the store is back', { awayMs: Math.round(awayMs) });
    },
    decidedAway: (how) => {
      metrics.decidedAway(how);
    },
    journal: (size) => {
      if (size.dropped > dropped) log.error('the journal is full, or ended with the process: settlements are missing in ledger and totals', undefined, { dropped: size.dropped - dropped });
      metrics.journal(size, size.dropped - dropped);
      dropped = size.dropped;
    },
    storeFault: (error) => {
      metrics.fault('store');
      log.fault('store', error);
    },
    layout: (newer) => {
      if (newer === null) log.info('the store has a layout that this release knows');
      else log.error(`the store is of a later release (${newer}): nothing is written to it, and what onStoreFailure says holds, until this processor is of that release too`);
    },
    eventsLost: (events) => {
      metrics.eventsLost(events);
      log.fault('ledger', new Error('no sink took the events of the ledger for too long: the oldest are lost'));
    },
  };
}

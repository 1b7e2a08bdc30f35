import type { FaultKind, Observer, RequestRecord } from '../domain/decision.js';
import type { SettleResult } from '../domain/lease.js';
import type { Log } from './log.js';
import type { Metrics } from './metrics.js';

export interface ObserverParts {
  readonly metrics: Metrics;
  readonly log: Log;
}

/**
 * Turns what happens to requests into metrics and log lines. Nothing here throws: telling must not fail what is told. A
 * failure of its own is counted as a fault of kind `telemetry`.
 */
export function createObserver({ metrics, log }: ObserverParts): Observer {
  const tell = (what: () => void): void => {
    try {
      what();
    } catch {
      countOwnFault(metrics);
    }
  };
  return {
    streamOpened: () => { tell(() => { metrics.streams(1); }); },
    streamClosed: () => { tell(() => { metrics.streams(-1); }); },
    leaseOpened: () => { tell(() => { metrics.leases(1); }); },
    leaseClosed: () => { tell(() => { metrics.leases(-1); }); },
    decided: (decisionMs) => { tell(() => { metrics.decided(decisionMs); }); },
    unmetered: (why) => { tell(() => { metrics.unmetered(why); }); },
    estimateRatio: (model, ratio) => { tell(() => { metrics.estimateRatio(model, ratio); }); },
    storeCall: (op, seconds, failed) => { tell(() => { metrics.storeCall(op, seconds, failed); }); },
    settled: (result, leaseId) => {
      tell(() => { metrics.settled(result); });
      tell(() => { tellSettlement(log, result, leaseId); });
    },
    reaped: (leases) => {
      tell(() => { metrics.reaped(leases); });
      tell(() => { log.info('leases that nobody renewed were settled', { leases }); });
    },
    finished: (record: RequestRecord) => {
      tell(() => { metrics.request(record); });
      tell(() => { log.request(record); });
    },
    fault: (kind: FaultKind, error) => {
      tell(() => { metrics.fault(kind); });
      tell(() => { log.fault(kind, error); });
    },
  };
}

/** The usual needs no line: the request has one. */
function tellSettlement(log: Log, result: SettleResult, leaseId: string): void {
  if (result === 'corrected') log.info('a lease that others had settled for dead was put right', { leaseId });
  if (result === 'unknown') log.warn('the store does not know a lease: what it cost is in the log line of its request only', { leaseId });
}

function countOwnFault(metrics: Metrics): void {
  try {
    metrics.fault('telemetry');
  } catch {
    // The registry itself fails: there is nowhere left to tell it.
  }
}

import { createAdmission, type Admission } from './admission/admission.js';
import { PoolReadings } from './admission/pool-readings.js';
import type { Health } from './admin/routes.js';
import { createAdminServer, type AdminServer } from './admin/server.js';
import { bucketsToShow, buildStatus, templateTenantsOf, type StatusDocument } from './admin/status.js';
import { parseAddress } from './config/address.js';
import type { Config } from './config/config.js';
import { createExactCounter } from './counting/exact-counter.js';
import type { PoolStore } from './domain/pool.js';
import type { Store } from './domain/store.js';
import { createEstimator } from './estimate/estimator.js';
import { createProcessor, type Processor } from './extproc/service.js';
import { LedgerExporter } from './ledger/exporter.js';
import { jsonLinesSink } from './ledger/json-lines.js';
import type { Clock } from './lib/clock.js';
import { keptHere, openPools, type OpenedPools } from './stores/open-pools.js';
import { openedStore, openStore, type OpenedStore } from './stores/open-store.js';
import type { Log } from './telemetry/log.js';
import { Metrics } from './telemetry/metrics.js';
import { createObserver } from './telemetry/observer.js';
import { createPoolsObserver } from './telemetry/pools-observer.js';
import { createStoreObserver } from './telemetry/store-observer.js';
import { tenantLabelOf } from './telemetry/tenant-label.js';
import { createTracing } from './telemetry/tracing.js';

/** What the program is made from. Everything that is not a decision of the program's own comes from outside. */
export interface AppParts {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
  /** A new unique id. */
  readonly newId: () => string;
  /** Default: as configured. */
  readonly store?: Store;
  /** Default: beside that store. */
  readonly pools?: PoolStore;
}

/** Where a started program listens. */
export interface Listening {
  /** Port of the ext_proc service; 0 for a Unix socket. */
  readonly extProcPort: number;
  /** Address of the admin server, as text. */
  readonly admin: string;
}

export interface App {
  start(): Promise<Listening>;
  /** Puts another configuration in force for requests from now on; those that run keep theirs. `server` and the store need a restart. */
  reconfigure(config: Config): void;
  /** A configuration was not taken, the old one stays in force: counted. Who tried it tells why. */
  reloadRefused(): void;
  /** A promise that nobody waited for failed: counted and told. */
  unhandled(error: unknown): void;
  status(): Promise<StatusDocument>;
  /**
   * Stops gracefully: not ready any more, a moment for load balancers to see it, no new streams, open ones finish within
   * `drainTimeoutMs`, every lease settled, logs written. Calling it again waits for the same end.
   */
  close(): Promise<void>;
}

type Phase = 'starting' | 'ready' | 'draining';

/** Puts the program together. Nothing listens before `start`. @throws Error in one sentence if the store can't be opened as configured. */
export async function createApp({ config: initial, clock, log, version, newId, store: given, pools: givenPools }: AppParts): Promise<App> {
  let config = initial;
  let phase: Phase = 'starting';
  let closing: Promise<void> | null = null;
  const { server } = initial;
  const metrics = new Metrics({ version, processMetrics: true });
  const observer = createObserver({ metrics, log });
  const shared = { clock, random: Math.random, owner: newId() };
  const opened = given === undefined ? await openStore(initial.store, { ...shared, observer: createStoreObserver({ metrics, log }) }) : openedStore(given);
  const { store } = opened;
  const pools = givenPools === undefined ? openPools(initial.store, { ...shared, observer: createPoolsObserver({ metrics, log }), refusal: () => opened.refusal() }) : keptHere(givenPools);
  const admission = createAdmission({
    policy: () => config.policy,
    store,
    pools: pools.store,
    estimator: createEstimator(),
    exactCounter: createExactCounter({ clock, onFault: (error) => observer.fault('exact_counting', error) }),
    observer,
    tracing: createTracing(version),
    ...{ newId, ...shared },
  });
  const processor = createProcessor({ admission, clock, listen: server.extProc, tls: server.tls.extProc, maxBodyBytes: server.maxBodyBytes });
  const exporter = exporterOf(admission, initial, shared, metrics);
  const readings = new PoolReadings({ pools: admission.pools, clock, alone: (poolId) => isAlone(poolId, opened, pools), configured: () => config.policy.pools });
  metrics.watchPools({ read: () => readings.read(), labelOf: (entitlementId) => tenantLabelOf(config.policy, entitlementId) });
  const status = (): Promise<StatusDocument> => statusOf(admission, config, readings);
  const admin = createAdminServer({
    listen: parseAddress(server.admin) ?? { kind: 'tcp', host: '127.0.0.1', port: 0 },
    tls: server.tls.admin,
    token: initial.adminToken,
    clock,
    health: () => ({ ready: phase === 'ready', draining: phase === 'draining', ...missing(opened, pools, initial) }),
    metrics: () => metrics.text(),
    status,
    ledger: (limit) => store.recentEvents(limit),
    usage: (period) => store.totalsIn(period),
  });
  return {
    start: async () => {
      // Its thread takes a second to start: better before the first request than with it.
      if (config.policy.exactCounting !== null) void admission.exactCounter.count('', 1);
      await opened.start();
      await admission.learning.start();
      const extProcPort = await processor.start();
      const { text } = await admin.start();
      admission.reaper.start();
      exporter?.start();
      phase = 'ready';
      return { extProcPort, admin: text };
    },
    reconfigure: (next) => {
      config = next;
      // What waits may fit now.
      admission.holds.settingsChanged();
    },
    reloadRefused: () => {
      metrics.fault('reload');
    },
    unhandled: (error) => {
      observer.fault('unhandled', error);
    },
    status,
    close: () => {
      phase = 'draining';
      closing ??= shutDown({ processor, admin, admission, opened, exporter, metrics, log, clock }, server.drainNoticeMs, server.drainTimeoutMs);
      return closing;
    },
  };
}

function isAlone(poolId: string, opened: OpenedStore, pools: OpenedPools): boolean {
  return opened.health() === 'away' || pools.away().includes(poolId);
}

/** What of the store is not there, and what holds then. */
function missing(opened: OpenedStore, pools: OpenedPools, { store: { onFailure } }: Config): Pick<Health, 'withoutStore' | 'storeRefusal' | 'withoutKeeper'> {
  const alone = pools.away().length;
  return { withoutStore: opened.health() === 'away' ? onFailure : null, storeRefusal: opened.refusal(), withoutKeeper: alone > 0 ? { pools: alone, how: onFailure } : null };
}

type Shared = Pick<AppParts, 'clock'> & { readonly random: () => number; readonly owner: string };

/** Null where the configuration names no file for the ledger. */
function exporterOf({ store, observer }: Admission, { store: { ledger } }: Config, shared: Shared, metrics: Metrics): LedgerExporter | null {
  const { file, maxBytes, keep } = ledger;
  if (file === null) return null;
  const onExported = (events: number): void => {
    metrics.ledgerExported(events);
  };
  return new LedgerExporter({ ...shared, store, observer, sink: jsonLinesSink({ file, maxBytes, keep, clock: shared.clock }), onExported });
}

async function statusOf({ store, templates, clock }: Admission, { policy }: Config, readings: PoolReadings): Promise<StatusDocument> {
  const hasTemplate = policy.identity.unknownKeyTemplateId !== null;
  const totals = hasTemplate ? (await store.snapshot([], clock.nowMs())).totals : new Map<string, never>();
  const made = templateTenantsOf(policy, templates.list(), totals);
  const [snapshot, pools] = await Promise.all([store.snapshot(bucketsToShow(policy, made), clock.nowMs()), readings.read()]);
  return buildStatus(policy, made, snapshot, { readings: pools, nowMs: clock.nowMs() });
}

interface Running {
  readonly processor: Processor;
  readonly admin: AdminServer;
  readonly admission: Admission;
  readonly opened: OpenedStore;
  /** Null: nothing is exported. */
  readonly exporter: LedgerExporter | null;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly clock: Clock;
}

async function shutDown({ processor, admin, admission, opened, exporter, metrics, log, clock }: Running, noticeMs: number, timeoutMs: number): Promise<void> {
  processor.markDraining();
  if (noticeMs > 0) await new Promise<void>((resume) => clock.after(noticeMs, resume));
  const held = admission.holds.drain();
  if (held > 0) log.info('held requests were sent back, to be sent again', { requests: held });
  await processor.drain(timeoutMs);
  // Settlements carry the whole figures.
  admission.renewals.close();
  admission.reaper.close();
  admission.holds.close();
  const givenUp = await admission.settlements.close();
  if (givenUp > 0) log.error('the store does not answer: leases were not settled', undefined, { leases: givenUp });
  await exporter?.stop();
  await admission.learning.close();
  await admission.exactCounter.close();
  await admission.pools.close();
  await opened.close();
  await admin.close();
  metrics.close();
  await log.close();
}

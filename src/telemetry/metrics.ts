import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import type { SettleResult } from '../domain/lease.js';
import type { EndReason } from '../domain/pool.js';
import type { OnStoreFailure } from '../domain/store-settings.js';
import type { FaultKind, PassReason, PoolDecision, RequestRecord } from '../domain/decision.js';
import { usageLines } from '../domain/usage.js';
import { BoundedLabels, NONE, OTHER } from './bounded-labels.js';
import { BucketTally } from './bucket-tally.js';
import { startEventLoopLag, type EventLoopLag } from './event-loop-lag.js';
import { PoolMetrics, type PoolSource } from './pool-metrics.js';
import { Tally } from './tally.js';

export interface MetricsOptions {
  /** Of this program, for `tokenweir_build_info`. */
  readonly version: string;
  /** Metrics of the process and the event loop; off in tests that look at counts only. */
  readonly processMetrics: boolean;
}

/** What a scrape gets. */
export interface MetricsText {
  readonly contentType: string;
  readonly body: string;
}

const FAST_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];
const HOLD_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 3_600];
const RATIOS = [0.25, 0.5, 0.7, 0.8, 0.9, 0.95, 1, 1.05, 1.1, 1.2, 1.3, 1.5, 2, 3, 5, 10];
/** Pairs of tenant and model that have token counters of their own: tenants × models would be far more than a scrape can carry. */
const MAX_TOKEN_PAIRS = 5_000;
/** Owner of models that the estimate's ratio brings in, where no tenant is known. */
const NO_OWNER = '';

const FAULTS: Record<FaultKind | 'telemetry', true> = {
  session: true,
  protocol: true,
  unsupported_modes: true,
  response_unreadable: true,
  settle: true,
  store: true,
  reload: true,
  unhandled: true,
  exact_counting: true,
  renew: true,
  pool: true,
  reap: true,
  ledger: true,
  telemetry: true,
};
const SETTLEMENTS: Record<SettleResult, true> = { settled: true, already_ended: true, corrected: true, unknown: true };
const ENDS: Record<EndReason, true> = { reclaimed: true, pressure: true };
const PASSES: Record<PassReason, true> = {
  count_tokens: true,
  realtime: true,
  batches: true,
  files: true,
  media: true,
  assistants: true,
  fine_tuning: true,
  moderations: true,
  pass_through: true,
  other: true,
  method: true,
  upgrade: true,
  bodyless: true,
  unknown_path: true,
  off: true,
  stage_back: true,
  unreadable: true,
  unidentified: true,
  local_reply: true,
  store_failed: true,
};

/**
 * All of Prometheus in one place, in a registry of its own. Label values are bounded: tenants 1,000 (only configured ones
 * come here), pools 100, reasons 100, operations 50, models 200. A model's name is the client's claim, so it becomes a label only
 * when its upstream told usage for it, and one tenant brings in at most a quarter of them: invented names stay `other`.
 */
export class Metrics {
  readonly #registry = new Registry();
  readonly #lag: EventLoopLag | null;
  readonly #tenants = new BoundedLabels({ maxValues: 1_000, maxPerOwner: 1_000, maxLength: 128 });
  readonly #models = new BoundedLabels({ maxValues: 200, maxPerOwner: 50, maxLength: 128 });
  readonly #reasons = new BoundedLabels({ maxValues: 100, maxPerOwner: 100, maxLength: 64 });
  readonly #ops = new BoundedLabels({ maxValues: 50, maxPerOwner: 50, maxLength: 64 });
  readonly #poolLabels = new BoundedLabels({ maxValues: 100, maxPerOwner: 100, maxLength: 128 });
  readonly #pairs = new Set<string>();

  readonly #requests = this.#tally('requests_total', 'Requests that are over, by decision.', ['tenant', 'pool', 'decision', 'reason']);
  readonly #tokens = this.#tally('tokens_total', 'Tokens charged; the kinds do not overlap.', ['tenant', 'model', 'kind']);
  readonly #ended = this.#counter('streams_ended_total', 'Requests that their pool ended before their answer was whole, by why.', ['why']);
  readonly #unmetered = this.#counter('unmetered_requests_total', 'Requests that passed without being counted.', ['why']);
  readonly #faults = this.#counter('faults_total', 'Faults inside the processor that traffic did not notice.', ['kind']);
  readonly #storeErrors = this.#tally('store_errors_total', 'Calls to the store that failed.', ['op']);
  readonly #settlements = this.#tally('settlements_total', 'Leases of this processor that were settled, by how the store took it.', ['result']);
  readonly #reaped = this.#counter('reaped_leases_total', 'Leases, of whichever processor, that this one settled for dead.', []);
  readonly #exported = this.#counter('ledger_events_exported_total', 'Events of the ledger that the sink has.', []);
  readonly #eventsLost = this.#counter('ledger_events_lost_total', 'Events that waited for a sink and gave way to newer ones.', []);
  readonly #storeConnected = this.#gauge('store_connected', 'Whether the connection to the store stands: 1 or 0. In memory it always does.', []);
  readonly #storeAway = this.#gauge('store_away', 'Whether requests are decided without the store: 1 or 0.', []);
  readonly #decidedAway = this.#counter('decisions_without_store_total', 'Requests that were decided without the store, by how.', ['how']);
  readonly #journalEntries = this.#gauge('journal_entries', 'Settlements that wait for the store.', []);
  readonly #journalBytes = this.#gauge('journal_bytes', 'Size of those.', []);
  readonly #journalDropped = this.#counter('journal_dropped_total', 'Settlements that were given up, for the journal was full.', []);
  readonly #decisionSeconds = this.#histogram('decision_seconds', 'Time to decide on a request.', [], FAST_SECONDS);
  readonly #storeSeconds = this.#histogram('store_seconds', 'Time of a call to the store.', ['op'], FAST_SECONDS);
  readonly #ratio = this.#histogram('estimate_error_ratio', 'True prompt tokens / estimated prompt tokens.', ['model'], RATIOS);
  readonly #holdSeconds = this.#histogram('hold_seconds', 'How long requests were held at their pool, by how that ended.', ['pool', 'tier', 'outcome'], HOLD_SECONDS);
  readonly #pools = new PoolMetrics(this.#registry, { pool: (id) => this.#poolLabels.admit(id), tenant: (label) => this.#tenants.admit(label) });
  readonly #poolKeeper = this.#gauge('pool_keeper', 'Whether this processor keeps a pool, and decides for all: 1 or 0.', ['pool']);
  readonly #poolTakeovers = this.#counter('pool_takeovers_total', 'How often this processor became the keeper of a pool.', ['pool']);
  readonly #poolAlone = this.#gauge('pool_alone', 'Whether this processor decides at a pool without a keeper: 1 or 0.', ['pool']);
  readonly #leases = this.#gauge('leases', 'Leases that have not ended.', []);
  #poolSource: PoolSource | null = null;
  readonly #streams = this.#gauge('streams', 'Streams from Envoy that are open.', []);

  constructor({ version, processMetrics }: MetricsOptions) {
    this.#gauge('build_info', 'Always 1; the labels tell what runs.', ['version', 'node']).set({ version, node: process.version }, 1);
    // A counter that begins at 1 shows no increase: those that alerts look at begin at 0.
    for (const kind of Object.keys(FAULTS)) this.#faults.inc({ kind }, 0);
    for (const why of Object.keys(ENDS)) this.#ended.inc({ why }, 0);
    for (const why of Object.keys(PASSES)) this.#unmetered.inc({ why }, 0);
    for (const result of Object.keys(SETTLEMENTS)) this.#settlements.add(result, 0);
    for (const how of ['local', 'open', 'closed'] as const) this.#decidedAway.inc({ how }, 0);
    this.#storeConnected.set(1);
    this.#lag = processMetrics ? this.#collectProcess() : null;
  }

  /** Counts a finished request and the tokens it was charged. */
  request(record: RequestRecord): void {
    const tenant = this.#tenants.admit(record.tenantLabel);
    const pool = record.pool === null ? NONE : this.#poolLabels.admit(record.pool.poolId);
    this.#requests.add(`${tenant}\n${pool}\n${record.decision}\n${this.#reasons.admit(record.reason)}`, 1);
    if (record.pool !== null && record.pool.waitedMs > 0) this.#held(pool, record.pool, record);
    if (record.endReason !== null) this.#ended.inc({ why: record.endReason });
    if (record.usage === null) return;
    const lines = usageLines(record.usage, record.model ?? NONE, null);
    if (lines.length === 0) return;
    const model = this.#modelLabel(tenant, record);
    for (const { kind, tokens } of lines) this.#tokens.add(`${tenant}\n${model}\n${kind}`, tokens);
  }

  decided(decisionMs: number): void {
    this.#decisionSeconds.observe('', decisionMs / 1_000);
  }

  unmetered(why: PassReason): void {
    this.#unmetered.inc({ why });
  }

  /** Only for requests whose upstream told usage. */
  estimateRatio(model: string, ratio: number): void {
    if (Number.isFinite(ratio) && ratio >= 0) this.#ratio.observe(this.#models.admit(model, NO_OWNER), ratio);
  }

  storeCall(op: string, seconds: number, failed: boolean): void {
    const label = this.#ops.admit(op);
    this.#storeSeconds.observe(label, seconds);
    this.#storeErrors.add(label, failed ? 1 : 0);
  }

  settled(result: SettleResult): void {
    this.#settlements.add(result, 1);
  }

  reaped(leases: number): void {
    this.#reaped.inc(leases);
  }

  ledgerExported(events: number): void {
    this.#exported.inc(events);
  }

  storeConnected(yes: boolean): void {
    this.#storeConnected.set(yes ? 1 : 0);
  }

  storeAway(yes: boolean): void {
    this.#storeAway.set(yes ? 1 : 0);
  }

  decidedAway(how: OnStoreFailure): void {
    this.#decidedAway.inc({ how });
  }

  /** A pool that is shared with other processors. */
  poolUsed(poolId: string): void {
    const pool = this.#poolLabels.admit(poolId);
    this.#poolKeeper.set({ pool }, 0);
    this.#poolAlone.set({ pool }, 0);
    this.#poolTakeovers.inc({ pool }, 0);
  }

  poolKeeper(poolId: string, yes: boolean): void {
    const pool = this.#poolLabels.admit(poolId);
    this.#poolKeeper.set({ pool }, yes ? 1 : 0);
    if (yes) this.#poolTakeovers.inc({ pool });
  }

  poolAlone(poolId: string, yes: boolean): void {
    this.#poolAlone.set({ pool: this.#poolLabels.admit(poolId) }, yes ? 1 : 0);
  }

  journal({ entries, bytes }: { readonly entries: number; readonly bytes: number }, newlyDropped: number): void {
    this.#journalEntries.set(entries);
    this.#journalBytes.set(bytes);
    this.#journalDropped.inc(newlyDropped);
  }

  eventsLost(events: number): void {
    this.#eventsLost.inc(events);
  }

  fault(kind: FaultKind | 'telemetry'): void {
    this.#faults.inc({ kind });
  }

  /** Changes the number of open streams by one. */
  streams(change: 1 | -1): void {
    this.#streams.inc(change);
  }

  /** Changes the number of leases by one. */
  leases(change: 1 | -1): void {
    this.#leases.inc(change);
  }

  /** Where pools are read from at each scrape; before that there is nothing of them. */
  watchPools(source: PoolSource): void {
    this.#poolSource = source;
  }

  async text(): Promise<MetricsText> {
    if (this.#poolSource !== null) this.#pools.show(await this.#poolSource.read(), this.#poolSource.labelOf);
    return { contentType: this.#registry.contentType, body: await this.#registry.metrics() };
  }

  /** Ends the sampling of the event loop. */
  close(): void {
    this.#lag?.stop();
    this.#registry.clear();
  }

  /** A request that was held, when it is over. */
  #held(pool: string, { waitedMs, factors }: PoolDecision, { decision, reason }: RequestRecord): void {
    const outcome = decision === 'admitted' ? 'granted' : this.#reasons.admit(reason);
    this.#holdSeconds.observe(`${pool}\n${factors.tier}\n${outcome}`, waitedMs / 1_000);
  }

  #modelLabel(tenant: string, record: RequestRecord): string {
    if (record.model === null) return NONE;
    const model = record.estimated ? this.#models.lookup(record.model) : this.#models.admit(record.model, tenant);
    const pair = `${tenant}\n${model}`;
    if (this.#pairs.has(pair)) return model;
    if (this.#pairs.size >= MAX_TOKEN_PAIRS) return OTHER;
    this.#pairs.add(pair);
    return model;
  }

  #collectProcess(): EventLoopLag {
    const lag = startEventLoopLag();
    collectDefaultMetrics({ register: this.#registry });
    const gauge = new Gauge({
      name: 'tokenweir_eventloop_lag_seconds',
      help: '99th percentile of how late the event loop was, since the last scrape.',
      registers: [this.#registry],
      collect: () => {
        gauge.set(lag.takeSeconds());
      },
    });
    return lag;
  }

  #tally(name: string, help: string, labelNames: string[]): Tally {
    return new Tally({ name: `tokenweir_${name}`, help, labelNames, registry: this.#registry });
  }

  #counter(name: string, help: string, labelNames: string[]): Counter {
    return new Counter({ name: `tokenweir_${name}`, help, labelNames, registers: [this.#registry] });
  }

  #gauge(name: string, help: string, labelNames: string[]): Gauge {
    return new Gauge({ name: `tokenweir_${name}`, help, labelNames, registers: [this.#registry] });
  }

  #histogram(name: string, help: string, labelNames: string[], bounds: number[]): BucketTally {
    return new BucketTally({ name: `tokenweir_${name}`, help, labelNames, bounds, registry: this.#registry });
  }
}

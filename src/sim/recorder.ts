import type { PoolSnapshot } from '../domain/pool.js';
import { Level, Series, TenantMeasures } from './measures.js';
import type { SimRequest } from './request.js';
import type { SimSpec } from './spec.js';

const POINTS = 240;

/** Time series of a run, one value for each piece of `stepMs`. */
export interface RunSeries {
  readonly stepMs: number;
  /** Work a piece, in tokens: a series a tenant. */
  readonly offered: readonly Series[];
  readonly served: readonly Series[];
  /** Tokens. */
  readonly debt: readonly Series[];
  readonly waiting: Series;
  readonly running: Series;
  readonly slots: Series;
  readonly engineQueued: Series;
}

/** Takes note of what happens in a run. */
export class Recorder {
  readonly tenants: readonly TenantMeasures[];
  readonly series: RunSeries;
  readonly #spec: SimSpec;
  readonly #warmupMs: number;
  readonly #slots: Level;
  readonly #running: Level;
  readonly #idleWhileWaiting: Level;
  readonly #waiting: Level;
  waitingMax = 0;
  /** Of all requests that came. */
  readonly sums = { requests: 0, promptTokens: 0, uncachedTokens: 0, outputTokens: 0 };

  constructor(spec: SimSpec) {
    this.#spec = spec;
    this.#warmupMs = spec.warmupMs ?? 0;
    this.tenants = spec.tenants.map(() => new TenantMeasures());
    const stepMs = spec.sampleMs ?? Math.max(1, spec.durationMs / POINTS);
    const series = (): Series => new Series(stepMs, spec.durationMs);
    const each = (): Series[] => spec.tenants.map(series);
    this.series = { stepMs, offered: each(), served: each(), debt: each(), waiting: series(), running: series(), slots: series(), engineQueued: series() };
    const level = (): Level => new Level(this.#warmupMs, spec.durationMs);
    [this.#slots, this.#running, this.#idleWhileWaiting, this.#waiting] = [level(), level(), level(), level()];
  }

  /** A client wants something: counted once, however often it asks. */
  wanted(request: SimRequest): void {
    this.series.offered[request.parts.tenant]!.add(request.trueWork, request.askedMs);
    this.sums.requests++;
    this.sums.promptTokens += request.promptTokens;
    this.sums.uncachedTokens += request.promptTokens - request.cachedTokens;
    this.sums.outputTokens += request.outputTokens;
    const tenant = this.#counted(request);
    if (tenant === null) return;
    tenant.requests++;
    tenant.offeredWork += request.trueWork;
  }

  asked(request: SimRequest): void {
    const tenant = this.#counted(request);
    if (tenant !== null) tenant.attempts++;
  }

  dispatched(request: SimRequest, nowMs: number): void {
    this.#counted(request)?.waitMs.add(nowMs - request.askedMs);
  }

  /** @param work what it took in the engine, in tokens. */
  ended(request: SimRequest, work: number, nowMs: number): void {
    this.#served(request, work, nowMs);
    const tenant = this.#counted(request);
    if (tenant === null) return;
    if (request.endedWhy === 'left') tenant.left++;
    if (request.endedWhy === 'lost') tenant.lost++;
    if (request.endedWhy === 'reclaimed' || request.endedWhy === 'pressure') tenant.endedStreams++;
    if (request.refused !== null) tenant.refusals[request.refused]++;
    if (request.endedWhy !== 'finished') return;
    const ttftMs = request.firstTokenMs - request.firstAskedMs;
    tenant.finished++;
    tenant.ttftMs.add(ttftMs);
    tenant.latencyMs.add(nowMs - request.firstAskedMs);
    if (ttftMs > request.parts.entitlement.sloMs) return;
    tenant.withinSlo++;
    tenant.goodWork += request.trueWork;
  }

  givenUp(request: SimRequest): void {
    const tenant = this.#counted(request);
    if (tenant !== null) tenant.givenUp++;
  }

  /** The engine and the queue now: what is written here holds until the next time. */
  levels(slots: number, running: number, waiting: number, nowMs: number): void {
    this.#slots.set(slots, nowMs);
    this.#running.set(running, nowMs);
    this.#waiting.set(waiting, nowMs);
    this.#idleWhileWaiting.set(waiting > 0 ? Math.max(0, slots - running) : 0, nowMs);
    if (waiting > this.waitingMax) this.waitingMax = waiting;
  }

  sample(snapshot: PoolSnapshot | null, now: { slots: number; running: number; waiting: number; engineQueued: number; nowMs: number }): void {
    const { series } = this;
    series.waiting.set(now.waiting, now.nowMs);
    series.running.set(now.running, now.nowMs);
    series.slots.set(now.slots, now.nowMs);
    series.engineQueued.set(now.engineQueued, now.nowMs);
    if (snapshot === null) return;
    const debts = new Map(snapshot.entitlements.map(({ id, debtTokens }) => [id, debtTokens]));
    this.#spec.tenants.forEach(({ id, entitlement }, i) => {
      const debt = debts.get(entitlement ?? id) ?? 0;
      series.debt[i]!.set(debt, now.nowMs);
      this.tenants[i]!.debtMaxTokens = Math.max(this.tenants[i]!.debtMaxTokens, debt);
    });
  }

  /** Shares of the slots' time, from the warm-up to the end of arrivals. */
  use(nowMs: number): { readonly utilisation: number; readonly idleWhileWaiting: number; readonly waitingMean: number } {
    const slots = this.#slots.sum(nowMs);
    const windowMs = Math.max(1e-9, Math.min(nowMs, this.#spec.durationMs) - this.#warmupMs);
    return {
      utilisation: slots === 0 ? 0 : this.#running.sum(nowMs) / slots,
      idleWhileWaiting: slots === 0 ? 0 : this.#idleWhileWaiting.sum(nowMs) / slots,
      waitingMean: this.#waiting.sum(nowMs) / windowMs,
    };
  }

  #served(request: SimRequest, work: number, nowMs: number): void {
    if (work <= 0) return;
    const fromMs = Number.isNaN(request.firstTokenMs) ? request.dispatchedMs : request.firstTokenMs;
    this.series.served[request.parts.tenant]!.spread(work, fromMs, nowMs);
    const inside = Math.min(nowMs, this.#spec.durationMs) - Math.max(fromMs, this.#warmupMs);
    const share = nowMs > fromMs ? Math.max(0, inside) / (nowMs - fromMs) : Number(inside >= 0);
    this.tenants[request.parts.tenant]!.servedWork += work * share;
  }

  #counted(request: SimRequest): TenantMeasures | null {
    return request.firstAskedMs < this.#warmupMs ? null : this.tenants[request.parts.tenant]!;
  }
}

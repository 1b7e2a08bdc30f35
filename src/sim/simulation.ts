import { EventQueue } from './event-queue.js';
import { Exchanges } from './exchanges.js';
import { PoolState } from './pool-state.js';
import { Recorder } from './recorder.js';
import { SimRequest, type EndedWhy, type RequestParts } from './request.js';
import { resultOf, type SimResult } from './result.js';
import { Source } from './sources.js';
import type { SimSpec } from './spec.js';
import { assignedRows, type AssignedRow } from './trace-assignment.js';

/** Kinds of events. */
const ARRIVAL = 0;
const TRACE = 1;
const NODE = 2;
const TICK = 3;
const RENEW = 4;
const SAMPLE = 5;
const CHANGE = 6;
const PATIENCE = 7;
const RETRY = 8;
const THOUGHT = 9;
const SCALE = 10;
const NODE_UP = 11;

const SAMPLE_MS = 1000;
const RENEW_MS = 2000;
/** After the last arrival: long enough for every hold limit and stream; what runs then still never ends. */
const LONGEST_TAIL_MS = 4 * 3_600_000;

/** Runs a pool on virtual time, and tells how it went. The same spec gives the same result. */
export function runSimulation(spec: SimSpec): SimResult {
  return new Simulation(spec).run();
}

/** The clock, what comes at which time, and the clients. */
class Simulation {
  readonly #spec: SimSpec;
  readonly #events = new EventQueue();
  readonly #recorder: Recorder;
  readonly #exchanges: Exchanges;
  readonly #pool: PoolState;
  readonly #sources: readonly Source[];
  readonly #trace: readonly AssignedRow[];
  /** Requests that an event refers to. */
  readonly #held: (SimRequest | null)[] = [];
  readonly #free: number[] = [];
  #tickAtMs = Infinity;
  #requests = 0;
  /** Events that bring a request. */
  #coming = 0;
  #nowMs = 0;

  constructor(spec: SimSpec) {
    this.#spec = spec;
    this.#recorder = new Recorder(spec);
    const schedule = (atMs: number, node: number, version: number): void => this.#events.add(atMs, NODE, node, version);
    this.#exchanges = new Exchanges(spec, this.#recorder, schedule, (request, why) => this.#afterwards(request, why));
    this.#pool = new PoolState(spec, this.#exchanges.fleet, this.#exchanges.policy);
    this.#sources = spec.tenants.map((_, i) => new Source(spec, i));
    this.#trace = assignedRows(spec);
  }

  run(): SimResult {
    const { durationMs } = this.#spec;
    this.#start();
    while (this.#events.peekMs() <= durationMs + LONGEST_TAIL_MS && this.#events.take()) {
      this.#nowMs = this.#events.timeMs;
      this.#happen(this.#events.kind, this.#events.subject, this.#events.version);
      this.#exchanges.settleNotes(this.#nowMs);
      this.#armTick();
      if (this.#nowMs >= durationMs && this.#coming === 0 && this.#exchanges.activeCount === 0) break;
    }
    const { activeCount, fleet } = this.#exchanges;
    return resultOf(this.#spec, this.#recorder, { endedMs: this.#nowMs, preemptions: fleet.preemptions, unfinished: activeCount });
  }

  #start(): void {
    const { tenants, changes, scaler, durationMs } = this.#spec;
    this.#pool.tell(0);
    tenants.forEach((tenant, i) => {
      const source = this.#sources[i]!;
      if (tenant.arrivals.kind === 'closed') this.#startClients(i, tenant.arrivals.clients, tenant.arrivals.thinkSeconds);
      else if (source.next !== null) this.#come(source.next(source.fromMs), ARRIVAL, i, source.untilMs);
    });
    if (this.#trace.length > 0) this.#come(this.#trace[0]!.atMs, TRACE, 0, durationMs);
    const { active } = this.#exchanges;
    // Processors renew in turn, not all at one moment.
    active.forEach((_, i) => this.#events.add((this.#renewMs * (i + 1)) / active.length, RENEW, i));
    (changes ?? []).forEach((change, i) => this.#events.add(change.atMs, CHANGE, i));
    if (scaler !== undefined) this.#events.add(scaler.everyMs, SCALE);
    this.#events.add(0, SAMPLE);
  }

  #happen(kind: number, subject: number, version: number): void {
    switch (kind) {
      case NODE:
        return this.#exchanges.fleet.nodes[subject]!.due(version, this.#nowMs);
      case ARRIVAL:
        return this.#arrival(subject);
      case TRACE:
        return this.#traceRow(subject);
      case TICK:
        return this.#tick();
      case RENEW:
        return this.#renew(subject);
      case SAMPLE:
        return this.#sample();
      case CHANGE:
        return this.#pool.change(this.#spec.changes![subject]!, this.#nowMs);
      case PATIENCE:
        return this.#exchanges.lostPatience(this.#release(subject), this.#nowMs);
      case RETRY:
        return this.#again(this.#release(subject));
      case THOUGHT:
        this.#coming--;
        return this.#first(this.#sources[subject]!.make(this.#requests++, version, null));
      case SCALE:
        return this.#scale();
      case NODE_UP:
        return this.#pool.nodeUp(this.#nowMs);
    }
  }

  /** Something that brings a request, if it is in time. */
  #come(atMs: number, kind: number, subject: number, untilMs: number, version = 0): void {
    if (atMs >= untilMs) return;
    this.#coming++;
    this.#events.add(atMs, kind, subject, version);
  }

  #startClients(tenant: number, clients: number, thinkSeconds: number): void {
    const { random, fromMs, untilMs } = this.#sources[tenant]!;
    // Not all at one moment, even if they do not think.
    for (let i = 0; i < clients; i++) this.#come(fromMs + random.uniform() * Math.max(1, thinkSeconds * 1000), THOUGHT, tenant, untilMs, i);
  }

  #arrival(tenant: number): void {
    const source = this.#sources[tenant]!;
    this.#coming--;
    this.#come(source.next!(this.#nowMs), ARRIVAL, tenant, source.untilMs);
    this.#first(source.make(this.#requests++, -1, null));
  }

  #traceRow(at: number): void {
    const { tenant, row } = this.#trace[at]!;
    this.#coming--;
    const next = this.#trace[at + 1];
    if (next !== undefined) this.#come(next.atMs, TRACE, at + 1, this.#spec.durationMs);
    this.#first(this.#sources[tenant]!.make(this.#requests++, -1, row));
  }

  #first(parts: RequestParts): void {
    const request = new SimRequest(parts, 1, this.#nowMs, this.#nowMs);
    this.#exchanges.ask(request, this.#nowMs);
    this.#recorder.wanted(request);
    this.#beImpatient(request);
  }

  #again(before: SimRequest): void {
    this.#coming--;
    const request = new SimRequest(before.parts, before.attempt + 1, before.firstAskedMs, this.#nowMs);
    this.#exchanges.ask(request, this.#nowMs);
    this.#beImpatient(request);
  }

  #beImpatient(request: SimRequest): void {
    const { patienceMs } = this.#spec.tenants[request.parts.tenant]!;
    if (patienceMs !== undefined) this.#events.add(Math.max(this.#nowMs, request.firstAskedMs + patienceMs), PATIENCE, this.#hold(request));
  }

  /** What the client does next. */
  #afterwards(request: SimRequest, why: EndedWhy): void {
    const { retry, arrivals } = this.#spec.tenants[request.parts.tenant]!;
    const failed = why === 'refused' || why === 'lost';
    const retryAfterMs = Math.max(1, Math.ceil(request.neededWaitMs / 1000)) * 1000;
    if (failed && retry !== undefined && request.attempt < retry.attempts && request.refused !== 'pool_too_small') {
      const afterMs = retry.obeysRetryAfter ? retryAfterMs : retry.afterMs * 2 ** (request.attempt - 1);
      return this.#come(this.#nowMs + Math.max(1, afterMs), RETRY, this.#hold(request), Infinity);
    }
    if (failed) this.#recorder.givenUp(request);
    if (arrivals.kind !== 'closed') return;
    const { random, untilMs } = this.#sources[request.parts.tenant]!;
    const thinkMs = random.exponential(arrivals.thinkSeconds * 1000) + (failed ? retryAfterMs : 0);
    this.#come(this.#nowMs + thinkMs, THOUGHT, request.parts.tenant, untilMs, request.parts.client);
  }

  #tick(): void {
    const { policy } = this.#exchanges;
    this.#tickAtMs = Infinity;
    if (this.#nowMs >= policy.nextAtMs) policy.tick(this.#nowMs);
  }

  /** One event for the policy's next time; a later one that is set already finds nothing to do. */
  #armTick(): void {
    const { nextAtMs } = this.#exchanges.policy;
    if (nextAtMs >= this.#tickAtMs) return;
    this.#tickAtMs = Math.max(nextAtMs, this.#nowMs);
    this.#events.add(this.#tickAtMs, TICK);
  }

  #renew(processor: number): void {
    const active = this.#exchanges.active[processor]!;
    if (active.size > 0) this.#exchanges.policy.renew(processor, active, this.#nowMs);
    this.#events.add(this.#nowMs + this.#renewMs, RENEW, processor);
  }

  #sample(): void {
    const snapshot = this.#exchanges.policy.snapshot(this.#nowMs);
    const situation = this.#exchanges.situation(this.#nowMs);
    const { observer, pressure, durationMs } = this.#spec;
    if (this.#nowMs < durationMs) this.#recorder.sample(snapshot, situation);
    observer?.sampled?.(snapshot, situation);
    if (pressure !== undefined) this.#pool.judgePressure(pressure, this.#nowMs);
    this.#events.add(this.#nowMs + Math.min(SAMPLE_MS, this.#recorder.series.stepMs), SAMPLE);
  }

  #scale(): void {
    const scaler = this.#spec.scaler!;
    const more = this.#pool.scale(scaler, this.#nowMs);
    for (let i = 0; i < more; i++) this.#events.add(this.#nowMs + scaler.startUpMs, NODE_UP);
    this.#events.add(this.#nowMs + scaler.everyMs, SCALE);
  }

  #hold(request: SimRequest): number {
    const at = this.#free.pop() ?? this.#held.length;
    this.#held[at] = request;
    return at;
  }

  #release(at: number): SimRequest {
    const request = this.#held[at]!;
    this.#held[at] = null;
    this.#free.push(at);
    return request;
  }

  get #renewMs(): number {
    return this.#spec.renewMs ?? RENEW_MS;
  }
}

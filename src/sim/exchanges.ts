import type { PoolRefusalReason } from '../domain/pool.js';
import type { EngineHost } from './engine.js';
import { Estimator, LEARNING } from './estimates.js';
import { Fleet } from './fleet.js';
import type { Situation } from './observer.js';
import type { PolicyHost, SimPolicy } from './policy.js';
import { createPolicy } from './policies.js';
import { Random } from './random.js';
import type { Recorder } from './recorder.js';
import type { EndedWhy, SimRequest } from './request.js';
import type { SimSpec } from './spec.js';

/** What is noted within a call, and done after it. */
const DISPATCH = 0;
const REFUSE = 1;
const RECLAIM = 2;
const RELIEVE = 3;
const FIRST_TOKEN = 4;
const FINISHED = 5;
const FAILED = 6;

/** Requests between their client, the policy and the engine: from the ask to the end. */
export class Exchanges implements EngineHost, PolicyHost {
  readonly fleet: Fleet;
  readonly policy: SimPolicy;
  readonly schedule: EngineHost['schedule'];
  /** Requests at the gate or in the engine, in all … */
  activeCount = 0;
  /** … and by processor. */
  readonly active: readonly Set<SimRequest>[];
  readonly #spec: SimSpec;
  readonly #recorder: Recorder;
  readonly #onEnded: (request: SimRequest, why: EndedWhy) => void;
  readonly #estimators: readonly Estimator[];
  readonly #routing: Random;
  readonly #notes: number[] = [];
  readonly #noted: SimRequest[] = [];
  #nowMs = 0;

  /** @param onEnded what the client does next. */
  constructor(spec: SimSpec, recorder: Recorder, schedule: EngineHost['schedule'], onEnded: (request: SimRequest, why: EndedWhy) => void) {
    this.#spec = spec;
    this.#recorder = recorder;
    this.#onEnded = onEnded;
    this.schedule = schedule;
    this.fleet = new Fleet(spec.node, spec.nodes, this);
    this.policy = createPolicy(spec, this);
    const processors = spec.processors ?? [LEARNING];
    this.#estimators = processors.map((processor, i) => new Estimator(processor, new Random(spec.seed, `processor/${i}`), spec.tenants.length));
    this.active = processors.map(() => new Set());
    this.#routing = new Random(spec.seed, 'routing');
  }

  /** The request comes to one of the processors, which estimates it and asks the policy. */
  ask(request: SimRequest, nowMs: number): void {
    const { prefillWeight, kvBytesPerToken } = this.#spec.pool;
    const { tenant, capTokens } = request.parts;
    request.processor = this.#estimators.length === 1 ? 0 : Math.floor(this.#routing.uniform() * this.#estimators.length);
    const estimator = this.#estimators[request.processor]!;
    const prefill = prefillWeight * (request.promptTokens - request.cachedTokens);
    request.trueWork = prefill + request.outputTokens;
    request.expectedWork = Math.max(1, Math.round(prefill + estimator.expectedTokens(tenant, request.outputTokens, capTokens)));
    request.kvBytes = Math.ceil((request.promptTokens + estimator.reservedTokens(tenant, request.outputTokens, capTokens)) * kvBytesPerToken);
    this.active[request.processor]!.add(request);
    this.activeCount++;
    this.#recorder.asked(request);
    this.policy.ask(request, nowMs);
  }

  /** Its client leaves, unless it has its first token already. */
  lostPatience(request: SimRequest, nowMs: number): void {
    this.#nowMs = nowMs;
    if (request.state === 'over' || !Number.isNaN(request.firstTokenMs)) return;
    if (request.state === 'running') return this.#abort(request, 'left');
    this.policy.leave(request, nowMs);
    this.#end(request, 'left');
  }

  /** Does what was noted, and what is noted meanwhile, until nothing is left. */
  settleNotes(nowMs: number): void {
    this.#nowMs = nowMs;
    for (let i = 0; i < this.#notes.length; i++) this.#do(this.#notes[i]!, this.#noted[i]!);
    this.#notes.length = 0;
    this.#noted.length = 0;
    this.#recorder.levels(this.fleet.slots, this.fleet.running, this.policy.waiting, nowMs);
  }

  situation(nowMs: number): Situation {
    const { slots, running, queued } = this.fleet;
    return { nowMs, slots, running, engineQueued: queued, waiting: this.policy.waiting };
  }

  // What the engine and the policy tell.

  firstToken(request: SimRequest): void {
    this.#note(FIRST_TOKEN, request);
  }

  finished(request: SimRequest): void {
    this.#note(FINISHED, request);
  }

  failed(request: SimRequest): void {
    this.#note(FAILED, request);
  }

  dispatch(request: SimRequest): void {
    this.#note(DISPATCH, request);
  }

  refuse(request: SimRequest, reason: PoolRefusalReason, neededWaitMs: number): void {
    request.refused = reason;
    request.neededWaitMs = neededWaitMs;
    this.#note(REFUSE, request);
  }

  endStream(request: SimRequest, why: 'reclaimed' | 'pressure'): void {
    this.#note(why === 'reclaimed' ? RECLAIM : RELIEVE, request);
  }

  workOf(request: SimRequest, nowMs: number): number {
    if (request.node >= 0) request.made = this.fleet.nodes[request.node]!.progress(request, nowMs);
    return this.#workSoFar(request);
  }

  #note(kind: number, request: SimRequest): void {
    this.#notes.push(kind);
    this.#noted.push(request);
  }

  #do(note: number, request: SimRequest): void {
    switch (note) {
      case DISPATCH:
        return this.#dispatched(request);
      case REFUSE:
        return this.#end(request, 'refused');
      case FIRST_TOKEN:
        request.firstTokenMs = this.#nowMs;
        return;
      case FINISHED:
        request.made = request.outputTokens;
        return this.#end(request, 'finished');
      case FAILED:
        return this.#end(request, 'lost');
      case RECLAIM:
      case RELIEVE:
        if (request.state === 'running') this.#abort(request, note === RECLAIM ? 'reclaimed' : 'pressure');
    }
  }

  #dispatched(request: SimRequest): void {
    request.state = 'running';
    request.dispatchedMs = this.#nowMs;
    this.#recorder.dispatched(request, this.#nowMs);
    this.#spec.observer?.dispatched?.(request, this.situation(this.#nowMs));
    if (!this.fleet.submit(request, this.#nowMs)) this.#end(request, 'lost');
  }

  #abort(request: SimRequest, why: EndedWhy): void {
    if (request.node >= 0) request.made = this.fleet.nodes[request.node]!.abort(request, this.#nowMs);
    this.#end(request, why);
  }

  #end(request: SimRequest, why: EndedWhy): void {
    const ran = request.state === 'running';
    const work = why === 'finished' ? request.trueWork : this.#workSoFar(request);
    request.state = 'over';
    request.endedWhy = why;
    request.endedMs = this.#nowMs;
    this.active[request.processor]!.delete(request);
    this.activeCount--;
    if (ran) this.policy.settle(request, Math.round(work), this.#nowMs);
    if (why === 'finished') this.#estimators[request.processor]!.learn(request.parts.tenant, request.outputTokens);
    this.#recorder.ended(request, work, this.#nowMs);
    const { observer } = this.#spec;
    if (observer !== undefined) this.#tellEnd(request, why, observer);
    this.#onEnded(request, why);
  }

  #tellEnd(request: SimRequest, why: EndedWhy, observer: NonNullable<SimSpec['observer']>): void {
    const situation = this.situation(this.#nowMs);
    if (why === 'refused') observer.refused?.(request, request.refused!, situation);
    observer.ended?.(request, situation);
  }

  /** A request without its first token has produced nothing that anybody pays for. */
  #workSoFar(request: SimRequest): number {
    if (Number.isNaN(request.firstTokenMs) || request.state !== 'running') return 0;
    return this.#spec.pool.prefillWeight * (request.promptTokens - request.cachedTokens) + request.made;
  }
}

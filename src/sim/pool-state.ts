import type { PoolSettings, Pressure } from '../domain/pool.js';
import type { Fleet } from './fleet.js';
import type { SimPolicy } from './policy.js';
import type { PoolChange, ScalerView, SimSpec } from './spec.js';

/** Capacity and pressure of the pool as they change, and who is told. */
export class PoolState {
  readonly #spec: SimSpec;
  readonly #fleet: Fleet;
  readonly #policy: SimPolicy;
  readonly #slotsAtStart: number;
  #told = 1;
  #pressure: Pressure;
  #nodesComing = 0;

  constructor(spec: SimSpec, fleet: Fleet, policy: SimPolicy) {
    this.#spec = spec;
    this.#fleet = fleet;
    this.#policy = policy;
    this.#slotsAtStart = fleet.slots;
    this.#pressure = spec.pool.settings.pressure;
  }

  /** Tells the policy what the pool has now. */
  tell(nowMs: number): void {
    this.#policy.configure(this.#settings(), nowMs);
  }

  change(change: PoolChange, nowMs: number): void {
    if (change.kind === 'lost') this.#fleet.lose(change.node, nowMs);
    else if (change.kind === 'slots') this.#fleet.setSlots(change.node, change.slots, nowMs);
    else this.#told = change.factor;
    this.tell(nowMs);
  }

  /** Sets the pressure from the fullest node, with hysteresis. */
  judgePressure({ kvHigh, kvLow, kvCritical }: NonNullable<SimSpec['pressure']>, nowMs: number): void {
    const share = this.#fleet.kvShare;
    const before = this.#pressure;
    if (share >= kvCritical) this.#pressure = 'critical';
    else if (share < kvLow) this.#pressure = 'normal';
    else if (share >= kvHigh ? before === 'normal' : before === 'critical') this.#pressure = 'elevated';
    if (this.#pressure !== before) this.tell(nowMs);
  }

  /** @returns how many nodes are to be started. Those that are too many take nothing more from now on. */
  scale(scaler: NonNullable<SimSpec['scaler']>, nowMs: number): number {
    const { slots, running, liveNodes: nodes } = this.#fleet;
    const utilisation = slots === 0 ? 0 : running / slots;
    const view: ScalerView = { nowMs, nodes, utilisation, waiting: this.#policy.waiting, snapshot: this.#policy.snapshot(nowMs) };
    const target = Math.min(scaler.maxNodes, Math.max(scaler.minNodes, scaler.wanted(view)));
    if (target < nodes) {
      this.#fleet.drain(nodes - target, nowMs);
      this.tell(nowMs);
    }
    const more = Math.max(0, target - nodes - this.#nodesComing);
    this.#nodesComing += more;
    return more;
  }

  nodeUp(nowMs: number): void {
    this.#nodesComing--;
    this.#fleet.grow(nowMs);
    this.tell(nowMs);
  }

  /** The pool as it was configured, in the proportion of the slots that are there. */
  #settings(): PoolSettings {
    const { settings } = this.#spec.pool;
    const factor = (this.#fleet.slots / this.#slotsAtStart) * this.#told;
    const part = (amount: number | null): number | null => (amount === null ? null : amount * factor);
    const whole = (amount: number | null): number | null => (amount === null ? null : Math.floor(amount * factor + 1e-9));
    const { tokensPerSecond, requestsPerSecond, kvBytes, slots } = settings.capacity;
    const capacity = { tokensPerSecond: part(tokensPerSecond), requestsPerSecond: part(requestsPerSecond), kvBytes: whole(kvBytes), slots: whole(slots) };
    return { ...settings, capacity, pressure: this.#pressure };
  }
}

import { Deque } from './deque.js';
import type { ConstantSpec, EngineHost, EngineNode, Sequence } from './engine.js';
import { SequenceHeap } from './sequence-heap.js';

/** A node whose requests all take their service time once they have a slot, whatever else runs: for experiments with known answers. */
export class ConstantNode implements EngineNode {
  readonly preemptions = 0;
  readonly kvShare = 0;
  readonly #spec: ConstantSpec;
  readonly #host: EngineHost;
  readonly #index: number;
  readonly #queue = new Deque<Sequence>();
  readonly #running = new Set<Sequence>();
  /** Before their first token, and after it, by the time when that ends. */
  readonly #starting = new SequenceHeap<Sequence>();
  readonly #ending = new SequenceHeap<Sequence>();
  #slots: number;
  #queued = 0;
  #version = 0;

  constructor(spec: ConstantSpec, index: number, host: EngineHost) {
    this.#spec = spec;
    this.#index = index;
    this.#host = host;
    this.#slots = spec.slots;
  }

  get slots(): number {
    return this.#slots;
  }

  get running(): number {
    return this.#running.size;
  }

  get queued(): number {
    return this.#queued;
  }

  submit(sequence: Sequence, nowMs: number): void {
    sequence.phase = 'queued';
    sequence.node = this.#index;
    this.#queue.push(sequence);
    this.#queued++;
    this.#change(nowMs);
  }

  abort(sequence: Sequence, nowMs: number): number {
    const made = this.progress(sequence, nowMs);
    this.#leave(sequence);
    this.#change(nowMs);
    return made;
  }

  progress(sequence: Sequence, nowMs: number): number {
    if (!this.#running.has(sequence)) return 0;
    return Math.floor(sequence.outputTokens * Math.min(1, (nowMs - sequence.mark) / sequence.serviceMs));
  }

  due(version: number, nowMs: number): void {
    if (version === this.#version) this.#change(nowMs);
  }

  setSlots(slots: number, nowMs: number): void {
    this.#slots = slots;
    this.#change(nowMs);
  }

  lose(nowMs: number): void {
    this.#slots = 0;
    for (const sequence of [...this.#running, ...this.#queue].filter(({ phase }) => phase !== 'outside')) {
      this.#leave(sequence);
      this.#host.failed(sequence, nowMs);
    }
    this.#change(nowMs);
  }

  #change(nowMs: number): void {
    for (let next = this.#starting.peek(); next !== undefined && next.heapKey <= nowMs; next = this.#starting.peek()) this.#start(next, nowMs);
    for (let next = this.#ending.peek(); next !== undefined && next.heapKey <= nowMs; next = this.#ending.peek()) {
      this.#leave(next);
      this.#host.finished(next, nowMs);
    }
    this.#fill(nowMs);
    this.#version++;
    const dueMs = Math.min(this.#starting.peek()?.heapKey ?? Infinity, this.#ending.peek()?.heapKey ?? Infinity);
    if (dueMs < Infinity) this.#host.schedule(dueMs, this.#index, this.#version);
  }

  #start(sequence: Sequence, nowMs: number): void {
    this.#starting.remove(sequence);
    sequence.phase = 'decode';
    this.#ending.add(sequence, sequence.mark + sequence.serviceMs);
    this.#host.firstToken(sequence, nowMs);
  }

  #fill(nowMs: number): void {
    while (this.#running.size < this.#slots) {
      const sequence = this.#queue.shift();
      if (sequence === undefined) return;
      if (sequence.phase !== 'queued') continue;
      this.#queued--;
      sequence.phase = 'prefill';
      sequence.mark = nowMs;
      this.#running.add(sequence);
      this.#starting.add(sequence, nowMs + Math.min(this.#spec.firstTokenMs, sequence.serviceMs));
    }
  }

  #leave(sequence: Sequence): void {
    if (sequence.phase === 'queued') this.#queued--;
    if (sequence.phase === 'prefill') this.#starting.remove(sequence);
    if (sequence.phase === 'decode') this.#ending.remove(sequence);
    this.#running.delete(sequence);
    sequence.phase = 'outside';
  }
}

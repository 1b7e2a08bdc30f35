import { Deque } from './deque.js';
import type { BatchingSpec, EngineHost, EngineNode, Sequence } from './engine.js';
import { SequenceHeap } from './sequence-heap.js';

/** Marks are reached although rounding left them this far away, in steps or tokens. */
const NEAR = 1e-6;
/** Time goes on by this much at least, so that rounding can't hold it at one place. */
const LEAST_MS = 1e-6;
/** Share of the KV cache that stays free when a sequence is let in, as vLLM does it: else it would be preempted in the next step. */
const WATERMARK = 0.01;

/**
 * A node with continuous batching and chunked prefill. Between two changes of the batch its steps take a time that is linear in their
 * number (the KV cache grows), so that all ends are known: there are events for changes of the batch, none for tokens. Its clocks are decode
 * steps and prefilled tokens.
 */
export class BatchingNode implements EngineNode {
  preemptions = 0;
  readonly #spec: BatchingSpec;
  readonly #host: EngineHost;
  readonly #index: number;
  readonly #kvTokens: number;
  readonly #queue = new Deque<Sequence>();
  /** In the order in which they were let in. */
  readonly #running: Sequence[] = [];
  readonly #prefilling: Sequence[] = [];
  readonly #decoding = new SequenceHeap<Sequence>();
  #slots: number;
  #queued = 0;
  #version = 0;
  #atMs = 0;
  #steps = 0;
  #prefilled = 0;
  /** Where the prefill clock stands when all that is there is prefilled. */
  #prefillEnd = 0;
  #kvUsed = 0;
  /** The pace since the last change. */
  #stepMs = 0;
  #growthMs = 0;
  #chunk = 0;

  constructor(spec: BatchingSpec, index: number, host: EngineHost) {
    this.#spec = spec;
    this.#index = index;
    this.#host = host;
    this.#slots = spec.slots;
    this.#kvTokens = spec.kvTokens ?? Infinity;
  }

  get slots(): number {
    return this.#slots;
  }

  get running(): number {
    return this.#running.length;
  }

  get queued(): number {
    return this.#queued;
  }

  get kvShare(): number {
    return this.#kvUsed / this.#kvTokens;
  }

  submit(sequence: Sequence, nowMs: number): void {
    this.#advance(nowMs);
    sequence.generatedBefore = 0;
    this.#enqueue(sequence, 'back');
    this.#change(nowMs);
  }

  abort(sequence: Sequence, nowMs: number): number {
    this.#advance(nowMs);
    const made = this.#made(sequence);
    this.#leave(sequence);
    this.#change(nowMs);
    return made;
  }

  progress(sequence: Sequence, nowMs: number): number {
    this.#advance(nowMs);
    return this.#made(sequence);
  }

  due(version: number, nowMs: number): void {
    if (version !== this.#version) return;
    this.#advance(nowMs);
    this.#change(nowMs);
  }

  setSlots(slots: number, nowMs: number): void {
    this.#advance(nowMs);
    this.#slots = slots;
    this.#change(nowMs);
  }

  lose(nowMs: number): void {
    this.#advance(nowMs);
    this.#slots = 0;
    const all = [...this.#running, ...this.#queue].filter((sequence) => sequence.phase !== 'outside');
    for (const sequence of all) {
      this.#leave(sequence);
      this.#host.failed(sequence, nowMs);
    }
    this.#change(nowMs);
  }

  /** Moves the clocks. A step begins with `stepMs` and gets longer by `growthMs` with each: s steps take stepMs·s + growthMs·s²/2. */
  #advance(nowMs: number): void {
    const dt = nowMs - this.#atMs;
    this.#atMs = nowMs;
    if (dt <= 0 || this.#running.length === 0) return;
    const { length: decoding } = this.#decoding;
    const root = Math.sqrt(this.#stepMs * this.#stepMs + 2 * this.#growthMs * dt);
    const steps = (2 * dt) / (this.#stepMs + root);
    this.#steps += steps;
    this.#kvUsed += decoding * steps;
    if (this.#chunk > 0) this.#prefilled = Math.min(this.#prefillEnd, this.#prefilled + this.#chunk * steps);
    this.#stepMs = root;
  }

  /** Does what the clocks have reached, fills the batch again, and tells when the next change is due. */
  #change(nowMs: number): void {
    this.#endPrefills(nowMs);
    for (let next = this.#decoding.peek(); next !== undefined && next.heapKey <= this.#steps + NEAR; next = this.#decoding.peek()) this.#finish(next, nowMs);
    while (this.#decoding.length > 0 && this.#kvUsed > this.#kvTokens - NEAR) this.#preempt(nowMs);
    this.#fill(nowMs);
    this.#setPace();
    this.#version++;
    if (this.#running.length > 0) this.#host.schedule(nowMs + Math.max(LEAST_MS, this.#untilChangeMs()), this.#index, this.#version);
  }

  #endPrefills(nowMs: number): void {
    let ended = 0;
    while (ended < this.#prefilling.length && this.#prefilling[ended]!.mark <= this.#prefilled + NEAR) ended++;
    for (const sequence of this.#prefilling.splice(0, ended)) {
      sequence.phase = 'decode';
      sequence.mark = this.#steps;
      // The prefill's own step makes a token.
      const first = sequence.generatedBefore === 0;
      sequence.generatedBefore += 1;
      this.#decoding.add(sequence, this.#steps + sequence.outputTokens - sequence.generatedBefore);
      if (first) this.#host.firstToken(sequence, nowMs);
    }
  }

  #finish(sequence: Sequence, nowMs: number): void {
    this.#leave(sequence);
    this.#host.finished(sequence, nowMs);
  }

  /** The youngest goes back to the front of the queue, and is computed again from its prompt and what it made. */
  #preempt(nowMs: number): void {
    const sequence = this.#running.at(-1)!;
    const made = this.#made(sequence);
    const alone = this.#running.length === 1;
    this.#leave(sequence);
    if (alone) return this.#host.failed(sequence, nowMs);
    this.preemptions++;
    sequence.generatedBefore = made;
    this.#enqueue(sequence, 'front');
  }

  #enqueue(sequence: Sequence, where: 'front' | 'back'): void {
    sequence.phase = 'queued';
    sequence.node = this.#index;
    this.#queued++;
    if (where === 'front') this.#queue.unshift(sequence);
    else this.#queue.push(sequence);
  }

  #fill(nowMs: number): void {
    while (this.#running.length < this.#slots) {
      const sequence = this.#queue.peek();
      if (sequence === undefined) return;
      if (sequence.phase === 'queued' && sequence.node === this.#index) {
        const kv = this.#kvAtEntry(sequence);
        const fits = this.#kvUsed + kv <= this.#kvTokens * (1 - WATERMARK);
        if (!fits && this.#running.length > 0) return;
        this.#queued--;
        if (fits) this.#enter(sequence, kv);
        else this.#reject(sequence, nowMs);
      }
      this.#queue.shift();
    }
  }

  #reject(sequence: Sequence, nowMs: number): void {
    sequence.phase = 'outside';
    this.#host.failed(sequence, nowMs);
  }

  #enter(sequence: Sequence, kv: number): void {
    this.#running.push(sequence);
    this.#kvUsed += kv;
    sequence.phase = 'prefill';
    const recomputed = sequence.generatedBefore > 0 ? sequence.promptTokens + sequence.generatedBefore : sequence.promptTokens - sequence.cachedTokens;
    this.#prefillEnd += Math.max(1, recomputed);
    sequence.mark = this.#prefillEnd;
    this.#prefilling.push(sequence);
  }

  #leave(sequence: Sequence): void {
    const { phase } = sequence;
    if (phase === 'queued') this.#queued--;
    else if (phase !== 'outside') this.#leaveBatch(sequence);
    sequence.phase = 'outside';
  }

  #leaveBatch(sequence: Sequence): void {
    this.#kvUsed -= this.#kvOf(sequence);
    this.#running.splice(this.#running.lastIndexOf(sequence), 1);
    if (sequence.phase === 'decode') this.#decoding.remove(sequence);
    else this.#dropPrefill(sequence);
    if (this.#running.length === 0) this.#kvUsed = 0;
  }

  /** Those behind it move up by what it had left to do. */
  #dropPrefill(sequence: Sequence): void {
    const at = this.#prefilling.indexOf(sequence);
    const before = at === 0 ? this.#prefilled : this.#prefilling[at - 1]!.mark;
    const left = sequence.mark - before;
    this.#prefilling.splice(at, 1);
    for (let i = at; i < this.#prefilling.length; i++) this.#prefilling[i]!.mark -= left;
    this.#prefillEnd -= left;
  }

  #setPace(): void {
    const { stepMs, perSequenceMs, perKvTokenMs, prefillTokensPerSecond, maxBatchedTokens } = this.#spec;
    const { length: decoding } = this.#decoding;
    // Small numbers keep their digits over a long run.
    if (this.#prefilling.length === 0) this.#prefillEnd = this.#prefilled = 0;
    const backlog = this.#prefillEnd - this.#prefilled;
    this.#chunk = this.#prefilling.length === 0 ? 0 : Math.max(1, Math.min(maxBatchedTokens - decoding, backlog));
    this.#stepMs = stepMs + perSequenceMs * decoding + perKvTokenMs * this.#kvUsed + (this.#chunk * 1000) / prefillTokensPerSecond;
    this.#growthMs = perKvTokenMs * decoding;
  }

  #untilChangeMs(): number {
    const { length: decoding } = this.#decoding;
    let steps = Infinity;
    if (decoding > 0) steps = Math.min(this.#decoding.peek()!.heapKey - this.#steps, (this.#kvTokens - this.#kvUsed) / decoding);
    // Prompts end with a step, and the last step of a long one is a short one.
    if (this.#chunk > 0) steps = Math.min(steps, Math.max(1, Math.floor((this.#prefilling[0]!.mark - this.#prefilled) / this.#chunk + NEAR)));
    steps = Math.max(0, steps);
    return this.#stepMs * steps + (this.#growthMs * steps * steps) / 2;
  }

  #made(sequence: Sequence): number {
    const now = sequence.phase === 'decode' ? this.#steps - sequence.mark : 0;
    return Math.min(sequence.outputTokens, sequence.generatedBefore + now);
  }

  #kvAtEntry(sequence: Sequence): number {
    return sequence.promptTokens + sequence.generatedBefore + this.#spec.blockTokens / 2;
  }

  #kvOf(sequence: Sequence): number {
    const grown = sequence.phase === 'decode' ? this.#steps - sequence.mark - 1 : 0;
    return this.#kvAtEntry(sequence) + grown;
  }
}

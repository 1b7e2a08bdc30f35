import type { EngineHost, EngineNode, NodeSpec, Sequence } from './engine.js';
import { BatchingNode } from './engine-batching.js';
import { ConstantNode } from './engine-constant.js';

/** The nodes of a pool, and which of them takes a request: the one with the smallest share of its slots taken, queue included. */
export class Fleet {
  readonly nodes: EngineNode[];
  readonly #spec: NodeSpec;
  readonly #host: EngineHost;
  readonly #lost = new Set<number>();

  constructor(spec: NodeSpec, count: number, host: EngineHost) {
    this.#spec = spec;
    this.#host = host;
    this.nodes = Array.from({ length: count }, (_, index) => this.#create(index));
  }

  /** @returns false where no node lives. */
  submit(sequence: Sequence, nowMs: number): boolean {
    let best = -1;
    let bestLoad = Infinity;
    for (let i = 0; i < this.nodes.length; i++) {
      const node = this.nodes[i]!;
      // A node without slots drains: it takes nothing.
      const load = this.#lost.has(i) || node.slots === 0 ? Infinity : (node.running + node.queued) / node.slots;
      if (load < bestLoad) [best, bestLoad] = [i, load];
    }
    if (best < 0) return false;
    this.nodes[best]!.submit(sequence, nowMs);
    return true;
  }

  /** Nodes that take requests. */
  get liveNodes(): number {
    return this.nodes.filter((node) => node.slots > 0).length;
  }

  /** Adds a node, or takes one that was drained back. */
  grow(nowMs: number): void {
    const drained = this.nodes.findIndex((node, i) => node.slots === 0 && !this.#lost.has(i));
    if (drained >= 0) this.setSlots(drained, this.#spec.slots, nowMs);
    else this.nodes.push(this.#create(this.nodes.length));
  }

  /** Lets so many nodes take nothing more, the last ones first; what runs there goes on. */
  drain(count: number, nowMs: number): void {
    for (let i = this.nodes.length - 1, left = count; i >= 0 && left > 0; i--) {
      if (this.nodes[i]!.slots === 0) continue;
      this.setSlots(i, 0, nowMs);
      left--;
    }
  }

  lose(index: number, nowMs: number): void {
    this.#lost.add(index);
    this.nodes[index]!.lose(nowMs);
  }

  /** Changes how many sequences a node runs; those that run go on. A lost node is back with that. */
  setSlots(index: number, slots: number, nowMs: number): void {
    this.#lost.delete(index);
    this.nodes[index]!.setSlots(slots, nowMs);
  }

  get slots(): number {
    let sum = 0;
    for (const node of this.nodes) sum += node.slots;
    return sum;
  }

  get running(): number {
    let sum = 0;
    for (const node of this.nodes) sum += node.running;
    return sum;
  }

  get queued(): number {
    let sum = 0;
    for (const node of this.nodes) sum += node.queued;
    return sum;
  }

  get preemptions(): number {
    let sum = 0;
    for (const node of this.nodes) sum += node.preemptions;
    return sum;
  }

  /** Of the fullest node. */
  get kvShare(): number {
    return Math.max(0, ...this.nodes.map((node) => node.kvShare));
  }

  #create(index: number): EngineNode {
    return this.#spec.kind === 'batching' ? new BatchingNode(this.#spec, index, this.#host) : new ConstantNode(this.#spec, index, this.#host);
  }
}

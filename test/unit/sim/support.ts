import type { EngineHost, Sequence } from '../../../src/sim/engine.js';
import { EventQueue } from '../../../src/sim/event-queue.js';
import type { EngineNode } from '../../../src/sim/engine.js';

/** A sequence as a test says it. */
export function sequence(promptTokens: number, outputTokens: number, serviceMs = 0, cachedTokens = 0): Sequence {
  return { promptTokens, cachedTokens, outputTokens, serviceMs, node: -1, phase: 'outside', generatedBefore: 0, mark: 0, heapIndex: -1, heapKey: 0 };
}

/** Runs one node on virtual time, and keeps what it tells. */
export class NodeRun implements EngineHost {
  readonly firstTokenMs = new Map<Sequence, number>();
  readonly finishedMs = new Map<Sequence, number>();
  readonly failedMs = new Map<Sequence, number>();
  readonly node: EngineNode;
  events = 0;
  readonly #events = new EventQueue();

  constructor(create: (host: EngineHost) => EngineNode) {
    this.node = create(this);
  }

  schedule(atMs: number, _node: number, version: number): void {
    this.#events.add(atMs, 0, 0, version);
  }

  firstToken(told: Sequence, nowMs: number): void {
    this.firstTokenMs.set(told, nowMs);
  }

  finished(told: Sequence, nowMs: number): void {
    this.finishedMs.set(told, nowMs);
  }

  failed(told: Sequence, nowMs: number): void {
    this.failedMs.set(told, nowMs);
  }

  /** Lets time pass until then. */
  until(ms: number): void {
    while (this.#events.peekMs() <= ms && this.#events.take()) {
      this.events++;
      this.node.due(this.#events.version, this.#events.timeMs);
    }
  }
}

import type { HeapItem } from './sequence-heap.js';

/** A request inside the engine. */
export interface Sequence extends HeapItem {
  /** Prompt tokens in the KV cache, and the part of them that was there before. */
  readonly promptTokens: number;
  readonly cachedTokens: number;
  /** What it will generate if nobody ends it. */
  readonly outputTokens: number;
  /** Of engines with constant service: how long it runs. */
  readonly serviceMs: number;
  /** Kept by the engine. */
  node: number;
  phase: Phase;
  /** Output tokens made before its present stay in the batch: it was preempted. May be a fraction. */
  generatedBefore: number;
  /** Position of the node's clock where its present phase began, or ends. */
  mark: number;
}

export type Phase = 'outside' | 'queued' | 'prefill' | 'decode';

/** Whom an engine tells. It only takes note: it must not call the engine from within. */
export interface EngineHost {
  /** `due(node, version)` is to be called at that time. */
  schedule(atMs: number, node: number, version: number): void;
  firstToken(sequence: Sequence, nowMs: number): void;
  finished(sequence: Sequence, nowMs: number): void;
  /** Its node was lost, or it can never fit there. */
  failed(sequence: Sequence, nowMs: number): void;
}

/** One node of an engine. */
export interface EngineNode {
  submit(sequence: Sequence, nowMs: number): void;
  /** Takes it out, wherever it is. @returns the output tokens that it made. */
  abort(sequence: Sequence, nowMs: number): number;
  /** Output tokens made until now. */
  progress(sequence: Sequence, nowMs: number): number;
  /** A time that was scheduled has come; one that was overtaken by another is passed over. */
  due(version: number, nowMs: number): void;
  /** Sequences at one time from now on; those that run go on. */
  setSlots(slots: number, nowMs: number): void;
  /** All of its sequences fail. */
  lose(nowMs: number): void;
  readonly slots: number;
  readonly running: number;
  readonly queued: number;
  /** 0 to 1; 0 where none is counted. */
  readonly kvShare: number;
  readonly preemptions: number;
}

/** Decode step = `stepMs` + `perSequenceMs` × sequences + `perKvTokenMs` × tokens in the KV cache + prefill tokens of the step / `prefillTokensPerSecond`. */
export interface BatchingSpec {
  readonly kind: 'batching';
  /** Sequences at one time, a node (vLLM: `max_num_seqs`). */
  readonly slots: number;
  /** KV cache of a node in tokens; null: never the bound. */
  readonly kvTokens: number | null;
  /** vLLM's `block_size`: half of one is lost a sequence, on average. */
  readonly blockTokens: number;
  readonly prefillTokensPerSecond: number;
  /** Most tokens of one step, decode and prefill together (vLLM: `max_num_batched_tokens`; llama.cpp: `n_batch`). */
  readonly maxBatchedTokens: number;
  readonly stepMs: number;
  readonly perSequenceMs: number;
  readonly perKvTokenMs: number;
}

/** Every request takes the same time once it has a slot, whatever else runs. */
export interface ConstantSpec {
  readonly kind: 'constant';
  readonly slots: number;
  readonly serviceMs: number;
  readonly firstTokenMs: number;
}

export type NodeSpec = BatchingSpec | ConstantSpec;

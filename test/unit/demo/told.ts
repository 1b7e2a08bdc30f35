import type { LedgerEvent } from '../../../src/domain/lease.js';
import type { ChatAnswer } from '../../../src/demo/client.js';
import type { Step, Told } from '../../../src/demo/story.js';

export function answer(changes: Partial<ChatAnswer> = {}): ChatAnswer {
  return { status: 200, requestId: 'r', retryAfterSeconds: null, retryAfterMs: null, pieces: 1, sawUsage: false, left: false, refusal: null, ...changes };
}

export function event(inputTokens: number, outputTokens: number, changes: Partial<LedgerEvent> = {}): LedgerEvent {
  return {
    ...{ leaseId: 'r', requestId: 'r', tenantId: 't', parentId: null, keyId: null, api: 'openai-chat', model: 'm', pool: null, node: null },
    ...{ session: null, costNanoUsd: null, decision: 'admitted', corrects: false, outcome: 'completed', estimated: false, lines: [], cachedInputTokens: 0, reasoningTokens: 0 },
    ...{ inputTokens, outputTokens, reservedInputTokens: 30, reservedOutputTokens: 80, startedAtMs: 0, settledAtMs: 1 },
    ...changes,
  };
}

function served(tenant: Step['tenant'], what: string, seen: Partial<ChatAnswer> = {}): Step {
  return { tenant, what, answer: answer(seen), event: event(20, 60), upstream: { input: 20, output: 60 } };
}

const refusal = { limit: 'tokens_per_minute', needed: 520, message: 'tokens per minute limit' };

/** A demo in which everything went as it should. */
export const GOOD: Told = {
  steps: [
    served('alder', 'whole', { sawUsage: true }),
    served('alder', 'streamed'),
    served('alder', 'streamed, asked', { sawUsage: true }),
    served('birch', 'long'),
    { tenant: 'birch', what: 'again', answer: answer({ status: 429, retryAfterSeconds: 3, retryAfterMs: 2_431, refusal }), event: null, upstream: { input: 0, output: 0 } },
    served('birch', 'after the wait'),
    {
      ...{ tenant: 'cedar', what: 'leaves', answer: answer({ left: true }), upstream: { input: 20, output: 23 } },
      event: event(24, 18, { outcome: 'cut', estimated: true, reservedInputTokens: 24, reservedOutputTokens: 400 }),
    },
  ],
  waitedMs: 2_431,
  cedar: { whileStreaming: 176, afterLeaving: 558 },
  charged: { alder: { input: 60, output: 180 }, birch: { input: 40, output: 120 }, cedar: { input: 24, output: 18 } },
  leases: 0,
};

/** `GOOD` with one step replaced. */
export function withStep(index: number, changes: Partial<Step>): Told {
  return { ...GOOD, steps: GOOD.steps.map((step, i) => (i === index ? { ...step, ...changes } : step)) };
}

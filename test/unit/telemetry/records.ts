import type { RequestRecord } from '../../../src/domain/decision.js';
import { NO_USAGE } from '../../../src/domain/usage.js';

/** A completed, admitted request with usage from its upstream; change what the test is about. */
export function record(changes: Partial<RequestRecord> = {}): RequestRecord {
  return {
    requestId: 'req-1',
    envoyRequestId: null,
    leaseId: 'req-1',
    traceParent: null,
    tenantId: 'acme',
    tenantLabel: 'acme',
    keyId: '0123456789abcdef',
    api: 'openai-chat',
    responseModel: null,
    outputCapTokens: null,
    model: 'gpt-4.1',
    stream: true,
    labels: { session: null, mergeKey: null, retry: null, work: 'interactive' },
    decision: 'admitted',
    reason: 'none',
    refusal: null,
    wouldRefuse: null,
    pool: null,
    outcome: 'completed',
    endReason: null,
    status: 200,
    estimatedInputTokens: 790,
    estimateErrorShare: 0.25,
    reservedOutputTokens: 256,
    usage: { ...NO_USAGE, inputTokens: 800, cachedInputTokens: 300, outputTokens: 200, reasoningTokens: 50 },
    estimated: false,
    decisionMs: 0.41234,
    firstTokenMs: 120,
    totalMs: 900,
    ...changes,
  };
}

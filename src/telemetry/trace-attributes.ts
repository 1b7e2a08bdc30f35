import type { Attributes } from '@opentelemetry/api';
import type { RequestRecord } from '../domain/decision.js';
import { cleanLabel } from './bounded-labels.js';

const MAX_TEXT = 128;

/** `gen_ai.operation.name` of each API. */
const OPERATIONS: ReadonlyMap<string, string> = new Map([
  ['openai-chat', 'chat'],
  ['openai-completions', 'text_completion'],
  ['openai-responses', 'chat'],
  ['openai-embeddings', 'embeddings'],
  ['anthropic-messages', 'chat'],
  ['bedrock-converse', 'chat'],
  ['bedrock-invoke', 'chat'],
  ['gemini-generate-content', 'generate_content'],
  ['gemini-embed-content', 'embeddings'],
  ['ollama-chat', 'chat'],
  ['ollama-generate', 'text_completion'],
  ['ollama-embed', 'embeddings'],
  ['llamacpp-completion', 'text_completion'],
]);

/** As the conventions want it: the operation and the model; for what was no request to a model, our own name. */
export function spanName(record: RequestRecord): string {
  const operation = operationOf(record);
  if (operation === null) return 'tokenweir request';
  return record.model === null ? operation : `${operation} ${cleanLabel(record.model, MAX_TEXT)}`;
}

/** Attributes of a request's span: OpenTelemetry's semantic conventions for generative AI, then our own. */
export function requestAttributes(record: RequestRecord): Attributes {
  return { ...genAiAttributes(record), ...ownAttributes(record) };
}

function genAiAttributes(record: RequestRecord): Attributes {
  const { usage } = record;
  return {
    'gen_ai.operation.name': operationOf(record) ?? undefined,
    // The convention asks for the format of the API where the provider behind it is not known.
    'gen_ai.provider.name': providerOf(record),
    'gen_ai.request.model': text(record.model),
    'gen_ai.request.max_tokens': record.outputCapTokens ?? undefined,
    'gen_ai.response.model': text(record.responseModel ?? null),
    'gen_ai.usage.input_tokens': usage?.inputTokens,
    'gen_ai.usage.output_tokens': usage?.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': usage?.cachedInputTokens,
    'gen_ai.usage.cache_creation.input_tokens': usage?.cacheWriteTokens,
    'gen_ai.usage.reasoning.output_tokens': usage?.reasoningTokens,
    'gen_ai.response.time_to_first_chunk': record.firstTokenMs === null ? undefined : record.firstTokenMs / 1_000,
    'http.response.status_code': record.status ?? undefined,
    'error.type': record.status !== null && record.status >= 500 ? String(record.status) : undefined,
  };
}

function ownAttributes(record: RequestRecord): Attributes {
  return {
    'tokenweir.request_id': text(record.requestId),
    'tokenweir.lease_id': text(record.leaseId),
    'tokenweir.tenant': text(record.tenantId),
    'tokenweir.decision': record.decision,
    'tokenweir.reason': text(record.reason),
    'tokenweir.outcome': record.outcome ?? undefined,
    'tokenweir.end_reason': record.endReason ?? undefined,
    'tokenweir.stream': record.stream,
    'tokenweir.work': record.labels?.work ?? undefined,
    'gen_ai.conversation.id': text(record.labels?.session ?? null),
    'tokenweir.estimated_input_tokens': record.estimatedInputTokens,
    'tokenweir.reserved_output_tokens': record.reservedOutputTokens,
    'tokenweir.usage_estimated': record.estimated,
    'tokenweir.decision_ms': record.decisionMs,
    'tokenweir.pool': text(record.pool?.poolId ?? null),
    'tokenweir.pool_wait_ms': record.pool?.waitedMs,
    'tokenweir.pool_tier': record.pool === null ? undefined : String(record.pool.factors.tier),
  };
}

/** The convention's names, by how those of our APIs begin. */
const PROVIDERS: readonly (readonly [string, string])[] = [
  ['openai-', 'openai'],
  ['anthropic-', 'anthropic'],
  ['bedrock-', 'aws.bedrock'],
  ['gemini-', 'gcp.gemini'],
];

function providerOf({ api }: RequestRecord): string | undefined {
  return PROVIDERS.find(([start]) => api?.startsWith(start) === true)?.[1];
}

function operationOf(record: RequestRecord): string | null {
  return record.api === null ? null : (OPERATIONS.get(record.api) ?? null);
}

function text(value: string | null): string | undefined {
  return value === null ? undefined : cleanLabel(value, MAX_TEXT);
}

import type { RequestLabels } from '../domain/decision.js';
import type { LedgerEvent } from '../domain/lease.js';
import type { Tenant } from '../domain/tenant.js';
import { NO_USAGE, usageLines, withTokens, type UsageLine } from '../domain/usage.js';
import type { WireApi } from '../domain/wire.js';
import type { Charge } from './charge.js';
import type { Demand } from './gates.js';
import type { KeyId } from './identify.js';

/** What an answer told of who made it. */
export interface Answered {
  readonly model: string | null;
  readonly serviceTier: string | null;
  /** Its own bill, where it names several models. */
  readonly lines: readonly UsageLine[] | null;
}

/** Whom a request is charged to, and by which name. */
export interface Charged {
  /** Id of the request and of its lease. */
  readonly id: string;
  readonly keyId: KeyId;
  readonly startedAtMs: number;
  readonly tenant: Tenant;
  readonly api: Pick<WireApi, 'api'>;
}

/** What is known of a request before it is admitted. */
export type Asked = Pick<Demand, 'facts' | 'prompt' | 'output'> & {
  readonly labels: RequestLabels;
  readonly decision: LedgerEvent['decision'];
  /** Id of its pool; null: none. */
  readonly pool: string | null;
};

/** Of an answer that nobody saw. */
const UNANSWERED: Answered = { model: null, serviceTier: null, lines: null };

/** What the ledger keeps of a request that nobody settles: its prompt, and no output yet. */
export function ledgerDraft(who: Charged, asked: Asked, nowMs: number): LedgerEvent {
  const usage = withTokens(NO_USAGE, Math.ceil(asked.prompt.tokens), 0);
  return ledgerEvent(who, asked, { outcome: 'abandoned', usage, estimated: true, teaches: false }, UNANSWERED, nowMs);
}

/** What the ledger keeps of a settled request. */
export function ledgerEvent(who: Charged, asked: Asked, charge: Charge, answered: Answered, nowMs: number): LedgerEvent {
  const { usage } = charge;
  return {
    leaseId: who.id,
    requestId: who.id,
    tenantId: who.tenant.id,
    parentId: who.tenant.parentId,
    keyId: who.keyId,
    api: who.api.api,
    model: asked.facts.model,
    pool: asked.pool,
    node: null,
    session: asked.labels.session,
    costNanoUsd: null,
    decision: asked.decision,
    outcome: charge.outcome,
    estimated: charge.estimated,
    corrects: false,
    lines: answered.lines ?? usageLines(usage, answered.model ?? asked.facts.model, answered.serviceTier),
    inputTokens: usage.inputTokens,
    cachedInputTokens: usage.cachedInputTokens,
    outputTokens: usage.outputTokens,
    reasoningTokens: usage.reasoningTokens,
    reservedInputTokens: Math.ceil(asked.prompt.tokens),
    reservedOutputTokens: Math.ceil(asked.output.reservedTokens),
    startedAtMs: Math.floor(who.startedAtMs),
    settledAtMs: Math.floor(nowMs),
  };
}

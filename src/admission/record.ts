import type { DecisionLabel, DecisionReason, PassReason, PoolDecision, ReadLabels, RequestRecord } from '../domain/decision.js';
import type { EndReason } from '../domain/pool.js';
import type { Api } from '../domain/request.js';
import type { Tenant } from '../domain/tenant.js';
import { reasonOf, type Refusal } from '../domain/refusal.js';
import { limitName } from '../quota/shortage.js';
import type { Charge } from './charge.js';
import type { Admitted, Known } from './deciding.js';
import type { KeyId } from './identify.js';

/** Gathers what is told about a request when it is over. */
export class RecordDraft {
  decided: Decided = { decision: 'passed', reason: 'client_left', refusal: null };
  decisionMs = 0;
  firstTokenAtMs: number | null = null;
  status: number | null = null;
  endReason: EndReason | null = null;
  /** As far as the body was read, whatever came of it. */
  known: Known | null = null;
  /** What its headers say, where its body was not read. */
  headerLabels: ReadLabels | null = null;
  charge: Charge | null = null;
  /** Model that answered, as it names itself. */
  responseModel: string | null = null;
  /** Who it is, where that is known. */
  tenant: Tenant | null = null;
  keyId: KeyId = null;
  /** How its pool decided; while it is held, as that stood when it began … */
  pool: PoolDecision | null = null;
  /** … and since when it is; null: it is not. */
  heldSinceMs: number | null = null;
  #admitted: Admitted | null = null;

  constructor(
    readonly requestId: string,
    readonly startedAtMs: number,
    private readonly traceParent: string | null,
    private readonly api: Api | null,
    private readonly envoyRequestId: string | null,
  ) {}

  /** It was let through, and holds a lease. */
  admitted(admitted: Admitted): void {
    this.#admitted = admitted;
    this.pool = admitted.pool;
    this.decided = decidedAdmitted(admitted);
  }

  /** The record as of now. */
  build(nowMs: number): RequestRecord {
    const admitted = this.#admitted;
    const { facts, labels, prompt } = this.known ?? NOTHING_KNOWN;
    return {
      requestId: this.requestId,
      envoyRequestId: this.envoyRequestId,
      leaseId: admitted === null ? null : this.requestId,
      traceParent: this.traceParent,
      tenantId: this.tenant?.id ?? null,
      tenantLabel: this.tenant?.label ?? 'none',
      keyId: this.keyId,
      api: this.api,
      model: facts?.model ?? null,
      responseModel: this.responseModel,
      outputCapTokens: facts?.outputCapTokens ?? null,
      stream: facts?.stream ?? false,
      labels: labels ?? this.headerLabels,
      decision: this.decided.decision,
      reason: this.decided.reason,
      refusal: this.decided.refusal,
      wouldRefuse: admitted?.wouldRefuse ?? null,
      pool: this.#poolAt(nowMs),
      outcome: this.charge?.outcome ?? null,
      endReason: this.endReason,
      status: this.status,
      estimatedInputTokens: prompt?.tokens ?? 0,
      estimateErrorShare: prompt?.errorShare ?? null,
      reservedOutputTokens: admitted?.output.reservedTokens ?? 0,
      usage: this.charge?.usage ?? null,
      estimated: this.charge?.estimated ?? false,
      decisionMs: this.decisionMs,
      firstTokenMs: this.firstTokenAtMs === null ? null : this.firstTokenAtMs - this.startedAtMs,
      totalMs: nowMs - this.startedAtMs,
    };
  }

  #poolAt(nowMs: number): PoolDecision | null {
    const { pool, heldSinceMs } = this;
    return pool === null || heldSinceMs === null ? pool : { ...pool, waitedMs: nowMs - heldSinceMs };
  }
}

const NOTHING_KNOWN = { facts: null, labels: null, prompt: null };

/** How the request was decided, once it was. */
export interface Decided {
  readonly decision: DecisionLabel;
  readonly reason: DecisionReason;
  readonly refusal: Refusal | null;
}

/** It went on, and would not have under limits that only watch yet. */
export function isRefusedInShadow({ wouldRefuse, shadowRefusal }: Admitted): boolean {
  return wouldRefuse !== null || shadowRefusal !== null;
}

/** Label of an admitted request: in shadow it may be one that would have been refused. */
function decidedAdmitted({ wouldRefuse, shadowRefusal }: Admitted): Decided {
  if (shadowRefusal !== null) return { decision: 'would_refuse', reason: reasonOf(shadowRefusal), refusal: shadowRefusal };
  if (wouldRefuse !== null) return { decision: 'would_refuse', reason: limitName(wouldRefuse.level.dimension), refusal: null };
  return { decision: 'admitted', reason: 'none', refusal: null };
}

export function decidedRefused(refusal: Refusal): Decided {
  return { decision: 'refused', reason: reasonOf(refusal), refusal };
}

export function decidedPassed(why: PassReason, wouldRefuse: Refusal | null): Decided {
  if (wouldRefuse !== null) return { decision: 'would_refuse', reason: reasonOf(wouldRefuse), refusal: wouldRefuse };
  return { decision: 'passed', reason: why, refusal: null };
}

/** Facts for Envoy's access log (dynamic metadata, namespace `tokenweir`). */
export type AccessLogFacts = Readonly<Record<string, string | number | boolean>>;

/** The facts of a record that operators ask an access log for; those that are not known are left out. */
export function accessLogFacts(record: RequestRecord): AccessLogFacts {
  const facts: Record<string, string | number | boolean> = {
    request_id: record.requestId,
    decision: record.decision,
    reason: record.reason,
    estimated_input_tokens: record.estimatedInputTokens,
    reserved_output_tokens: record.reservedOutputTokens,
    usage_estimated: record.estimated,
  };
  if (record.tenantId !== null) facts['tenant'] = record.tenantId;
  if (record.model !== null) facts['model'] = record.model;
  const { work = null, session = null } = record.labels ?? {};
  if (work !== null) facts['work'] = work;
  if (session !== null) facts['session'] = session;
  if (record.pool !== null) {
    facts['pool'] = record.pool.poolId;
    facts['wait_ms'] = Math.round(record.pool.waitedMs);
  }
  if (record.outcome !== null) facts['outcome'] = record.outcome;
  if (record.endReason !== null) facts['end_reason'] = record.endReason;
  if (record.usage === null) return facts;
  facts['input_tokens'] = record.usage.inputTokens;
  facts['cached_input_tokens'] = record.usage.cachedInputTokens;
  facts['output_tokens'] = record.usage.outputTokens;
  facts['reasoning_tokens'] = record.usage.reasoningTokens;
  return facts;
}

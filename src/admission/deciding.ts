import type { PoolDecision, RequestLabels } from '../domain/decision.js';
import type { Estimator, OutputEstimate, PromptEstimate } from '../domain/estimate.js';
import type { Level, Shortage } from '../domain/lease.js';
import type { Policy } from '../domain/policy.js';
import type { PlainRefusal, Refusal } from '../domain/refusal.js';
import type { RequestFacts } from '../domain/request.js';
import type { Tenant } from '../domain/tenant.js';
import type { PhaseSpan, RequestSpan } from '../domain/tracing.js';
import type { WireApi } from '../domain/wire.js';
import { chainOf } from '../quota/charges.js';
import type { Admission } from './admission.js';
import { exactEstimate } from './exact.js';
import { passGates, type Demand, type HoldHost, type PoolShare } from './gates.js';
import type { RequestHead } from './head.js';
import type { KeyId } from './identify.js';
import { maxWaitOf, requestLabels } from './labels.js';
import { ledgerDraft } from './ledger-event.js';
import { placeOf } from './pool-place.js';
import type { RequestBody } from './request-body.js';
import { severalModels } from './several-models.js';

/** Who asks, by which API, under which policy. */
export interface Subject {
  readonly api: WireApi;
  readonly tenant: Tenant;
  readonly headers: RequestHead['headers'];
  /** What stands behind the question mark of the path; null without one. */
  readonly query: string | null;
  readonly policy: Policy;
  readonly mode: 'enforce' | 'shadow';
  /** Id of the request and of its lease. */
  readonly id: string;
  readonly keyId: KeyId;
  readonly startedAtMs: number;
  readonly span: RequestSpan;
}

export interface Admitted {
  readonly kind: 'admitted';
  readonly facts: RequestFacts;
  readonly labels: RequestLabels;
  readonly prompt: PromptEstimate;
  readonly output: OutputEstimate;
  readonly levels: readonly Level[];
  /** What a limit in shadow would have refused. */
  readonly wouldRefuse: Shortage | null;
  /** In shadow: what would have been refused for another reason than a limit's level. */
  readonly shadowRefusal: Refusal | null;
  /** How its pool decided; null without a pool. */
  readonly pool: PoolDecision | null;
  /** What it holds there; null: nothing. */
  readonly share: PoolShare | null;
}

export type Decision =
  | Admitted
  | { readonly kind: 'refused'; readonly refusal: Refusal; readonly levels: readonly Level[]; readonly pool: PoolDecision | null }
  /** The client left while the request was held: nothing is held any more. */
  | { readonly kind: 'left' }
  /** The store failed: nothing is known, nothing was charged. */
  | { readonly kind: 'store_failed'; readonly error: unknown };

/** What is known of a request whose body was read. */
export interface Known {
  readonly facts: RequestFacts;
  readonly labels: RequestLabels;
  /** Null: refused before it was estimated. */
  readonly prompt: PromptEstimate | null;
}

/** Whose request it is, who is also told what is read of it, however it is decided. */
export interface DecideHost extends HoldHost {
  knows(known: Known): void;
}

/** Decides one request: facts → estimate → gates. Never rejects. The body may be released as soon as the request is held. */
export async function decide(admission: Admission, subject: Subject, body: RequestBody, host: DecideHost): Promise<Decision> {
  const parsed = parsedBody(subject, body);
  if (!parsed.ok) {
    const { field, message } = parsed.fault;
    return refused(subject, { kind: 'bad_request', field, message });
  }
  const { facts } = parsed;
  const place = placeOf(subject.policy, subject.tenant, facts.model);
  const labels = requestLabels(subject.headers, facts, place?.entitlement.defaultWork);
  host.knows({ facts, labels, prompt: null });
  const forbidden = severalModels(subject, facts) ?? forbiddenModel(subject, facts) ?? forbiddenBackground(subject, facts);
  if (forbidden !== null && subject.mode === 'enforce') return refused(subject, forbidden);
  const decision = await gated(admission, subject, body, { facts, place, labels }, host);
  if (decision.kind !== 'admitted' || forbidden === null) return decision;
  return { ...decision, shadowRefusal: { ...forbidden, requestId: subject.id } };
}

/** Bytes are only touched by functions that return at once: one that waits would keep them. */
function parsedBody({ api }: Subject, { bytes }: RequestBody): ReturnType<WireApi['parseRequest']> {
  return api.parseRequest(bytes);
}

function refused(subject: Subject, refusal: Omit<PlainRefusal, 'requestId'>): Decision {
  return { kind: 'refused', refusal: { ...refusal, requestId: subject.id }, levels: [], pool: null };
}

function forbiddenModel({ tenant, policy }: Subject, { model, otherModels = [] }: RequestFacts): Omit<PlainRefusal, 'requestId'> | null {
  const allowsAll = (member: Tenant): boolean => member.allowsModel(model) && otherModels.every((name) => member.allowsModel(name));
  const denier = chainOf(tenant, policy.tenants).find((member) => !allowsAll(member));
  if (denier === undefined) return null;
  return { kind: 'model_not_allowed', field: 'model', message: `The model is not in the allow-list of tenant ${denier.id}.` };
}

function forbiddenBackground({ policy }: Subject, { background }: RequestFacts): Omit<PlainRefusal, 'requestId'> | null {
  if (!background || policy.background === 'meter') return null;
  const message = 'The field `background` must not be true: what is made after the response is not served here (setting `background`).';
  return { kind: 'bad_request', field: 'background', message };
}

type Read = Pick<Demand, 'facts' | 'place' | 'labels'>;

async function gated(admission: Admission, subject: Subject, body: RequestBody, { facts, place, labels }: Read, host: DecideHost): Promise<Decision> {
  const { gates, clock } = admission;
  const { tenant, headers, policy, id, span, mode } = subject;
  const { prompt, output } = policy.exactCounting === null ? estimated(admission, subject, facts) : await counted(admission, subject, body, facts);
  host.knows({ facts, labels, prompt });
  const pool = place?.pool.settings.id ?? null;
  const draft = ledgerDraft(subject, { facts, labels, prompt, output, pool, decision: 'admitted' }, clock.nowMs());
  const demand = {
    leaseId: id, tenant, facts, prompt, output, policy, nowMs: clock.nowMs(), draft, place, mode, labels, host,
    clientMaxWaitMs: maxWaitOf(headers), bodyBytes: body.length,
  };
  try {
    const verdict = await passGates(gates, demand, span);
    if (verdict.kind !== 'admitted') return verdict;
    const { kind, levels, wouldRefuse, shadowRefusal, pool: placed, share } = verdict;
    return { kind, facts, labels, prompt, output, levels, wouldRefuse, shadowRefusal, pool: placed, share };
  } catch (error) {
    return { kind: 'store_failed', error };
  }
}

interface Estimated {
  readonly prompt: PromptEstimate;
  readonly output: OutputEstimate;
}

/** At once: most requests need not wait for this. */
function estimated({ estimator }: Admission, subject: Subject, facts: RequestFacts): Estimated {
  const estimating = subject.span.child('estimate');
  return withOutput(estimator, subject, facts, estimator.prompt(subject.tenant.id, facts), estimating);
}

async function counted(admission: Admission, subject: Subject, body: RequestBody, facts: RequestFacts): Promise<Estimated> {
  const { estimator } = admission;
  const estimating = subject.span.child('estimate');
  const prompt = await exactEstimate(admission, subject, body.bytes, facts, estimator.prompt(subject.tenant.id, facts));
  return withOutput(estimator, subject, facts, prompt, estimating);
}

function withOutput(estimator: Estimator, { tenant, policy }: Subject, facts: RequestFacts, prompt: PromptEstimate, estimating: PhaseSpan): Estimated {
  const output = estimator.output(tenant.id, facts, {
    maxOutputTokens: policy.maxOutputTokens(facts.model),
    unknownOutputTokens: policy.unknownOutputTokens,
  });
  estimating.end({ 'tokenweir.prompt_tokens': prompt.tokens, 'tokenweir.output_tokens': output.reservedTokens });
  return { prompt, output };
}

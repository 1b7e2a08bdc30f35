import type { Policy } from '../domain/policy.js';
import type { PlainRefusal } from '../domain/refusal.js';
import type { RequestFacts } from '../domain/request.js';
import type { Tenant } from '../domain/tenant.js';
import { chainOf } from '../quota/charges.js';

/** Who asks, and what stands in the query (null without one). */
export interface Asking {
  readonly tenant: Tenant;
  readonly policy: Policy;
  readonly query: string | null;
}

type Fault = Omit<PlainRefusal, 'requestId'>;

/**
 * Refuses what would let another model answer than the one that is counted: LiteLLM takes a model from the query before that of the body,
 * several by commas at once, and others where the first one fails. Null for a request of one model.
 */
export function severalModels(asking: Asking, facts: RequestFacts): Fault | null {
  return inQuery(asking, facts) ?? byCommas(facts) ?? beyondLimits(asking, facts);
}

function inQuery({ query }: Asking, { model }: RequestFacts): Fault | null {
  if (query === null || new URLSearchParams(query).getAll('model').every((name) => name === model)) return null;
  return fault('model', 'The query must not name another model than the request does.');
}

function byCommas({ api, model }: RequestFacts): Fault | null {
  return api === 'openai-chat' && model.includes(',') ? fault('model', 'The field `model` must name one model.') : null;
}

/** What another model uses is charged as use of the first: that must not spare it limits of its own. */
function beyondLimits({ tenant, policy }: Asking, { model, otherModels = [] }: RequestFacts): Fault | null {
  if (otherModels.length === 0) return null;
  const limits = chainOf(tenant, policy.tenants).flatMap((member) => member.limits);
  const spared = limits.some((limit) => !limit.matches(model) && otherModels.some((name) => limit.matches(name)));
  return spared ? fault('fallbacks', 'The field `fallbacks` must not name a model that has limits which the requested one has not.') : null;
}

function fault(field: string, message: string): Fault {
  return { kind: 'bad_request', field, message };
}

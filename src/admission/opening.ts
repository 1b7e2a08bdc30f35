import type { PassReason } from '../domain/decision.js';
import type { Enforcement } from '../domain/enforcement.js';
import type { Policy } from '../domain/policy.js';
import type { PlainRefusal } from '../domain/refusal.js';
import type { Tenant } from '../domain/tenant.js';
import type { WireApi } from '../domain/wire.js';
import { modeOf } from '../quota/charges.js';
import type { RequestHead } from './head.js';
import type { Identity } from './identify.js';

/** What the headers alone decide. */
export type Opening =
  | { readonly kind: 'pass'; readonly why: PassReason }
  | { readonly kind: 'refuse'; readonly refusal: Omit<PlainRefusal, 'requestId'>; readonly shadowWhy: PassReason }
  | { readonly kind: 'meter'; readonly api: WireApi; readonly tenant: Tenant };

/** How a request is handled: as its tenant says, else as configured globally. */
export function requestMode(identity: Identity, policy: Policy): Enforcement {
  return identity.kind === 'known' ? modeOf(identity.tenant, policy) : policy.enforcement;
}

const WORKLESS_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Decides by the headers. Standing alone in front of model servers we are the authentication, so there everything that
 * can carry work needs a known key, on whatever path; in front of a gateway only what is metered does.
 */
export function openingOf(head: RequestHead, api: WireApi | null, identity: Identity, policy: Policy): Opening {
  if (head.stage === 'back') return { kind: 'pass', why: 'stage_back' };
  if (requestMode(identity, policy) === 'off') return { kind: 'pass', why: 'off' };
  const upgrade = head.headers.has('upgrade') || head.method === 'CONNECT';
  const workless = WORKLESS_METHODS.has(head.method) && !upgrade;
  const metered = api !== null && !upgrade;
  if (identity.kind === 'unknown' && (metered || (head.stage === 'both' && !workless))) return unidentified(identity.why);
  if (identity.kind === 'unknown' || !metered) return unmetered(head, policy, upgrade, workless);
  if (head.endOfStream) return { kind: 'pass', why: 'bodyless' };
  return { kind: 'meter', api, tenant: identity.tenant };
}

function unmetered(head: RequestHead, policy: Policy, upgrade: boolean, workless: boolean): Opening {
  const why: PassReason = upgrade ? 'upgrade' : workless ? 'method' : 'unknown_path';
  if (policy.unknownPaths === 'pass' || head.method === 'OPTIONS') return { kind: 'pass', why };
  return {
    kind: 'refuse',
    shadowWhy: why,
    refusal: { kind: 'unknown_path', field: null, message: `${head.method} on this path is not served here.` },
  };
}

const WHY_UNKNOWN: Record<Extract<Identity, { kind: 'unknown' }>['why'], string> = {
  no_key: 'No API key was sent: give one as "Authorization: Bearer KEY", "x-api-key" or "api-key".',
  unknown_key: 'The API key is not known here.',
  several_keys: 'Several different API keys were sent: send one.',
  unknown_tenant: 'The request names a tenant that is not known here.',
};

function unidentified(why: keyof typeof WHY_UNKNOWN): Opening {
  return {
    kind: 'refuse',
    shadowWhy: 'unidentified',
    refusal: { kind: 'unauthenticated', field: null, message: WHY_UNKNOWN[why] },
  };
}

import type { PassReason } from '../domain/decision.js';
import type { Enforcement } from '../domain/enforcement.js';
import type { Policy } from '../domain/policy.js';
import type { PlainRefusal } from '../domain/refusal.js';
import type { Tenant } from '../domain/tenant.js';
import type { UnmeteredKind } from '../domain/decision.js';
import type { WireApi } from '../domain/wire.js';
import { modeOf } from '../quota/charges.js';
import type { Route } from '../wire/routes.js';
import { isUpgrade, type RequestHead } from './head.js';
import type { Identity } from './identify.js';
import { signedHeadersOf, signedSpoof } from './signed.js';

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
 * can carry work needs a known key, on whatever path; in front of a gateway only what is metered or counts tokens does: the gateway
 * judges the keys of all else.
 */
export function openingOf(head: RequestHead, route: Route, identity: Identity, policy: Policy): Opening {
  if (head.stage === 'back') return { kind: 'pass', why: 'stage_back' };
  if (requestMode(identity, policy) === 'off') return { kind: 'pass', why: 'off' };
  const spoofed = spoofedSignature(head);
  if (spoofed !== null) return spoofed;
  const upgrade = isUpgrade(head);
  const workless = WORKLESS_METHODS.has(head.method) && !upgrade;
  const called = callOf(route, upgrade, workless);
  const counts = called.kind === 'metered' || (called.kind === 'unmetered' && called.what === 'count_tokens');
  const keyed = counts || (head.stage === 'both' && !workless);
  if (identity.kind === 'unknown' && keyed) return unidentified(identity.why === 'no_key' && signedHeadersOf(head) !== null ? 'signed' : identity.why);
  if (called.kind === 'unmetered') return unmetered(called.what, head.method === 'DELETE' && !upgrade, policy);
  if (called.kind === 'unknown' || identity.kind === 'unknown') return unknown(head, policy, upgrade, workless);
  if (head.endOfStream) return { kind: 'pass', why: 'bodyless' };
  return { kind: 'meter', api: called.api, tenant: identity.tenant };
}

/** What a route comes to: nothing where the method does no work, a connection for both sides where one is asked for on a known path. */
function callOf(route: Route, upgrade: boolean, workless: boolean): Route {
  if (workless) return { kind: 'unknown', family: route.family };
  return upgrade && route.kind !== 'unknown' ? { kind: 'unmetered', what: 'realtime', family: route.family } : route;
}

/** The setting that opens each kind. */
const SETTINGS: Record<UnmeteredKind, string> = {
  count_tokens: 'countTokens',
  realtime: 'realtime',
  batches: 'batches',
  files: 'files',
  media: 'media',
  assistants: 'assistants',
  fine_tuning: 'fineTuning',
  moderations: 'moderations',
  pass_through: 'passThrough',
  other: 'other',
};

/** To delete is no work, whatever is deleted. */
function unmetered(what: UnmeteredKind, deletes: boolean, policy: Policy): Opening {
  if (policy.unmetered[what] === 'pass' || deletes) return { kind: 'pass', why: what };
  const message = `Requests of this kind can't be counted and are not served here (setting \`unmetered.${SETTINGS[what]}\`).`;
  return { kind: 'refuse', shadowWhy: what, refusal: { kind: 'not_metered', field: null, message } };
}

function unknown(head: RequestHead, policy: Policy, upgrade: boolean, workless: boolean): Opening {
  const why: PassReason = upgrade ? 'upgrade' : workless ? 'method' : 'unknown_path';
  if (policy.unknownPaths === 'pass' || head.method === 'OPTIONS') return { kind: 'pass', why };
  return {
    kind: 'refuse',
    shadowWhy: why,
    refusal: { kind: 'unknown_path', field: null, message: `${head.method} on this path is not served here.` },
  };
}

/** A header that only we may set would have to be taken away, and the signature says it must stay. */
function spoofedSignature(head: RequestHead): Opening | null {
  const signed = signedHeadersOf(head);
  const name = signed === null ? null : signedSpoof(head, signed);
  if (name === null) return null;
  return { kind: 'refuse', shadowWhy: 'unreadable', refusal: { kind: 'bad_request', field: null, message: `The header ${name} must not be signed: it is set here.` } };
}

const WHY_UNKNOWN: Record<Extract<Identity, { kind: 'unknown' }>['why'] | 'signed', string> = {
  no_key: 'No API key was sent: give one as "Authorization: Bearer KEY", "x-api-key", "api-key" or "x-goog-api-key".',
  signed: 'A signature (SigV4) names no tenant here: send an API key in its place.',
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

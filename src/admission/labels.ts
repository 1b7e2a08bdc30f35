import type { ReadLabels, RequestLabels } from '../domain/decision.js';
import type { RequestFacts, Work } from '../domain/request.js';

type Headers = ReadonlyMap<string, string>;

/** Longest session or merge key that is kept, in UTF-16 units. */
export const MAX_LABEL_LENGTH = 256;
const MAX_RETRIES = 1000;

const FIRST_SESSION_HEADERS = ['x-tokenweir-session', 'x-litellm-trace-id', 'x-litellm-session-id'];
const VENDOR_SESSION = /^x-[a-z0-9]+(-[a-z0-9]+)*-session-id$/;
const LAST_SESSION_HEADERS = ['x-session-id', 'session-id'];
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** What a request's headers say of it, its body where they say nothing, and for the kind of work its tenant's entitlement where that says nothing either. */
export function requestLabels(headers: Headers, facts: Pick<RequestFacts, 'session' | 'work'>, defaultWork: Work = 'interactive'): RequestLabels {
  const { session, mergeKey, retry, work } = headerLabels(headers);
  return { session: session ?? printable(facts.session ?? undefined), mergeKey, retry, work: work ?? facts.work ?? defaultWork };
}

/** What the headers alone say, of a request whose body was not or could not be read. */
export function headerLabels(headers: Headers): ReadLabels {
  return {
    session: sessionOf(headers),
    mergeKey: printable(headers.get('idempotency-key')),
    retry: retryOf(headers.get('x-stainless-retry-count')),
    work: workOf(headers.get('x-tokenweir-work')),
  };
}

/** Clients and gateways name the session in many ways: ours first, the least specific last. */
function sessionOf(headers: Headers): string | null {
  return firstSession(headers, FIRST_SESSION_HEADERS) ?? firstSession(headers, vendorHeaders(headers)) ?? firstSession(headers, LAST_SESSION_HEADERS);
}

function vendorHeaders(headers: Headers): readonly string[] {
  const names: string[] = [];
  for (const name of headers.keys()) if (name.endsWith('-session-id') && VENDOR_SESSION.test(name)) names.push(name);
  return names.sort();
}

function firstSession(headers: Headers, names: readonly string[]): string | null {
  for (const name of names) {
    const session = printable(headers.get(name));
    if (session !== null) return session;
  }
  return null;
}

/** Cut, and without what can't be printed; null where nothing is left. */
function printable(value: string | undefined): string | null {
  if (value === undefined) return null;
  const text = value.slice(0, MAX_LABEL_LENGTH).replace(UNPRINTABLE, '').trim();
  return text === '' ? null : text;
}

function retryOf(value: string | undefined): number | null {
  return value !== undefined && /^\d{1,4}$/.test(value) ? Math.min(MAX_RETRIES, Number(value)) : null;
}

/**
 * How long the client lets its request wait, in milliseconds: 0 is not at all. Null where it does not say, or says anything but a number of
 * at most nine digits, which is longer than any hold.
 */
export function maxWaitOf(headers: Headers): number | null {
  const value = headers.get('x-tokenweir-max-wait-ms')?.trim() ?? '';
  return /^\d{1,9}$/.test(value) ? Number(value) : null;
}

/** Any other word is none: a typing error must not change who waits. */
function workOf(value: string | undefined): Work | null {
  const word = value?.trim().toLowerCase();
  return word === 'interactive' || word === 'background' ? word : null;
}

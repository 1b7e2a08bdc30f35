import type { Clock } from '../lib/clock.js';
import type { LedgerEvent, TenantTotals } from '../domain/lease.js';
import type { OnStoreFailure } from '../domain/store-settings.js';
import { bearerMatches } from './bearer.js';
import type { StatusDocument } from './status.js';
import { buildUsage, dayOf, isPeriod } from './usage.js';

/** Of the processor and of what it stands on. */
export interface Health {
  readonly ready: boolean;
  readonly draining: boolean;
  /** What holds while the shared store is away, as now; absent or null: it is there. */
  readonly withoutStore?: OnStoreFailure | null;
  /** Why the store is not written to though it is there, in words; null: it is. */
  readonly storeRefusal?: string | null;
  /** Pools that no processor keeps, and what holds there; absent or null: none. */
  readonly withoutKeeper?: { readonly pools: number; readonly how: OnStoreFailure } | null;
}

/** What the routes read. */
export interface AdminSources {
  readonly health: () => Health;
  readonly metrics: () => Promise<{ readonly contentType: string; readonly body: string }>;
  readonly status: () => Promise<StatusDocument>;
  /** The latest settled requests, oldest first; without it there is no `/ledger`. */
  readonly ledger?: (limit: number) => Promise<readonly LedgerEvent[]>;
  /** Totals of all tenants in a day or a month; without it there is no `/usage`. */
  readonly usage?: (period: string) => Promise<ReadonlyMap<string, TenantTotals>>;
}

export interface AdminRequest {
  readonly method: string;
  /** Path and query, as on the request line. */
  readonly target: string;
  readonly authorization: string | undefined;
}

export interface AdminAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const TEXT = 'text/plain; charset=utf-8';
const JSON_TYPE = 'application/json; charset=utf-8';
/** A store that hangs must not make a scrape hang. */
const ANSWER_WITHIN_MS = 5_000;
const DEFAULT_EVENTS = 100;
const MAX_EVENTS = 1_000;

interface Route {
  /** Needs the token where one is configured. */
  readonly guarded: boolean;
  readonly answer: (query: URLSearchParams) => AdminAnswer | Promise<AdminAnswer>;
}

/** Answers one request; never rejects. */
export type Router = (request: AdminRequest) => Promise<AdminAnswer>;

/**
 * `/healthz` and `/readyz` are open, for probes can't carry a token; `/metrics`, `/status`, `/ledger` and `/usage` name
 * tenants, so they need it where one is configured (Prometheus: `authorization: {credentials_file: …}`).
 */
export function createRouter(sources: AdminSources, token: string | null, clock: Clock): Router {
  const routes = routesOf(sources, clock);
  return async ({ method, target, authorization }) => {
    const [path = '', query = ''] = target.split('?', 2);
    const route = routes.get(path);
    if (route === undefined) return say(404, 'not found');
    if (method !== 'GET' && method !== 'HEAD') return { ...say(405, 'only GET and HEAD'), headers: { allow: 'GET, HEAD' } };
    if (route.guarded && token !== null && !bearerMatches(authorization, token)) {
      return { ...say(401, 'the admin token is needed: Authorization: Bearer …'), headers: { 'www-authenticate': 'Bearer' } };
    }
    return within(clock, ANSWER_WITHIN_MS, async () => route.answer(new URLSearchParams(query)), () => failure(sources.health()));
  };
}

function routesOf({ health, metrics, status, ledger, usage }: AdminSources, clock: Clock): ReadonlyMap<string, Route> {
  const routes = new Map<string, Route>([
    ['/healthz', { guarded: false, answer: () => say(200, 'ok') }],
    ['/readyz', { guarded: false, answer: () => readiness(health()) }],
    ['/metrics', { guarded: true, answer: async () => ({ status: 200, ...(await metrics()) }) }],
    ['/status', { guarded: true, answer: async () => json(await status()) }],
  ]);
  if (ledger !== undefined) {
    routes.set('/ledger', { guarded: true, answer: async (query) => json({ events: await ledger(eventsAsked(query)) }) });
  }
  if (usage !== undefined) routes.set('/usage', { guarded: true, answer: (query) => usageAnswer(usage, query, clock.nowMs()) });
  return routes;
}

/** By default today's. */
async function usageAnswer(usage: NonNullable<AdminSources['usage']>, query: URLSearchParams, nowMs: number): Promise<AdminAnswer> {
  const period = query.get('period') ?? dayOf(nowMs);
  if (!isPeriod(period)) return say(400, 'period must be a day (2026-11-29) or a month (2026-11) of UTC');
  return json(buildUsage(period, await usage(period), query.get('tenant')));
}

/**
 * A processor without its store still serves, unless it is told to refuse then: load balancers should go elsewhere. One that only misses the keeper
 * of a pool stays: the others miss it too, for the two seconds until another takes over.
 */
function readiness({ ready, draining, withoutStore = null, storeRefusal = null, withoutKeeper = null }: Health): AdminAnswer {
  if (draining) return say(503, 'draining');
  if (!ready) return say(503, 'starting');
  if (withoutStore === null) return say(200, withoutKeeper === null ? 'ready' : `ready, ${withoutKeeper.pools} pool(s) without a keeper: ${withoutKeeper.how}`);
  const away = storeRefusal === null ? 'store away' : `store away (${storeRefusal})`;
  return withoutStore === 'closed' ? say(503, away) : say(200, `ready, ${away}: ${withoutStore}`);
}

function eventsAsked(query: URLSearchParams): number {
  const asked = Number(query.get('limit') ?? DEFAULT_EVENTS);
  return Number.isInteger(asked) && asked > 0 ? Math.min(asked, MAX_EVENTS) : DEFAULT_EVENTS;
}

/** What went wrong, in a word: an error's text could name more than the port may tell. */
function failure({ withoutStore = null }: Health): AdminAnswer {
  return withoutStore === null ? say(500, 'failed') : say(503, 'store away');
}

/** The answer, or `failed()` if there is none. */
function within(clock: Clock, ms: number, work: () => Promise<AdminAnswer>, failed: () => AdminAnswer): Promise<AdminAnswer> {
  return new Promise((resolve) => {
    const cancel = clock.after(ms, () => {
      resolve(say(503, 'no answer in time'));
    });
    const settle = (answer: AdminAnswer): void => {
      cancel();
      resolve(answer);
    };
    work().then(settle, () => {
      settle(failed());
    });
  });
}

function say(status: number, text: string): AdminAnswer {
  return { status, contentType: TEXT, body: `${text}\n` };
}

function json(value: unknown): AdminAnswer {
  return { status: 200, contentType: JSON_TYPE, body: `${JSON.stringify(value)}\n` };
}

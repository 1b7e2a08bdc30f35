import { openArrivals, type NextArrival } from './arrivals.js';
import { drawLength } from './lengths.js';
import { Random } from './random.js';
import type { RequestParts } from './request.js';
import type { SimSpec, TenantSpec } from './spec.js';
import type { TraceRow } from './trace.js';

const BYTES_PER_TOKEN = 4;

/** Makes the requests of one tenant. Its chance is its own: what others do, or a policy does, changes neither times nor lengths. */
export class Source {
  readonly next: NextArrival | null;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly random: Random;
  readonly #spec: SimSpec;
  readonly #tenant: TenantSpec;
  readonly #index: number;
  readonly #lengths: Random;
  readonly #entitlement;

  constructor(spec: SimSpec, index: number) {
    const tenant = spec.tenants[index]!;
    this.#spec = spec;
    this.#tenant = tenant;
    this.#index = index;
    this.#entitlement = spec.pool.entitlementOf(tenant.entitlement ?? tenant.id);
    this.#lengths = new Random(spec.seed, `${index}/${tenant.id}/lengths`);
    this.random = new Random(spec.seed, `${index}/${tenant.id}/clients`);
    this.fromMs = tenant.fromMs ?? 0;
    this.untilMs = Math.min(spec.durationMs, tenant.untilMs ?? Infinity);
    this.next = openArrivals(tenant.arrivals, new Random(spec.seed, `${index}/${tenant.id}/arrivals`), spec.rateFactor ?? 1);
  }

  /** A request with lengths by chance, or those of a row of the trace. */
  make(index: number, client: number, row: TraceRow | null): RequestParts {
    const tenant = this.#tenant;
    const capTokens = tenant.capTokens ?? null;
    const promptTokens = row?.promptTokens ?? drawLength(tenant.prompt, this.#lengths);
    const output = row?.outputTokens ?? drawLength(tenant.output, this.#lengths);
    const work = tenant.work ?? this.#entitlement.defaultWork;
    // Written out, not spread: this is done for every request.
    return {
      index,
      client,
      work,
      promptTokens,
      capTokens,
      tenant: this.#index,
      entitlement: this.#entitlement,
      cachedTokens: row?.cachedTokens ?? Math.floor(promptTokens * (tenant.cachedShare ?? 0)),
      outputTokens: Math.max(1, Math.min(output, capTokens ?? Infinity)),
      serviceMs: tenant.serviceMs ?? (this.#spec.node.kind === 'constant' ? this.#spec.node.serviceMs : 0),
      maxWaitMs: tenant.maxWaitMs ?? this.#spec.pool.holdMs[work],
      bytes: tenant.bodyBytes ?? promptTokens * BYTES_PER_TOKEN,
    };
  }
}

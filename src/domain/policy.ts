import type { UnmeteredKind } from './decision.js';
import type { Enforcement } from './enforcement.js';
import type { ExactCounting } from './exact.js';
import type { Entitlement, PoolSettings } from './pool.js';
import type { Work } from './request.js';
import type { Tenant } from './tenant.js';

/** Which verified JWT claims name a tenant, and where Envoy's jwt_authn left them. */
export interface JwtIdentity {
  /** Namespace of the dynamic metadata, e.g. `envoy.filters.http.jwt_authn`. */
  readonly metadataNamespace: string;
  /** Name under it (jwt_authn's `payload_in_metadata`). */
  readonly payloadKey: string;
  /** The claim; dots reach into objects. */
  readonly claim: string;
  /** Claim value → tenant id; null: the value is the tenant id. */
  readonly tenants: ReadonlyMap<string, string> | null;
}

/** Everything a decision depends on that an operator configured: replaced as a whole on reload. */
export interface Policy {
  readonly enforcement: Enforcement;
  readonly tenants: ReadonlyMap<string, Tenant>;
  readonly identity: {
    /** SHA-256 of a key (lower-case hex) → tenant id. */
    readonly keys: ReadonlyMap<string, string>;
    /** Tenant for requests without a key; null: 401. */
    readonly anonymousTenantId: string | null;
    /** Template for keys that are listed nowhere; null: 401. */
    readonly unknownKeyTemplateId: string | null;
    /** How many tenants made from the template are told apart at one time. */
    readonly maxTemplateTenants: number;
    /** Lower-case header name; null: none is trusted. */
    readonly trustedTenantHeader: string | null;
    readonly jwt: JwtIdentity | null;
  };
  /** In order: the first that matches a model is its pool; a model without one passes no second gate. */
  readonly pools: readonly PoolPolicy[];
  readonly unknownPaths: 'pass' | 'reject';
  /** What becomes of requests whose path is known and whose cost is not. */
  readonly unmetered: Readonly<Record<UnmeteredKind, 'pass' | 'reject'>>;
  /** Prompts whose text is counted exactly; null: none. */
  readonly exactCounting: ExactCounting | null;
  /** What becomes of requests whose answer is made after the response (`background: true`). */
  readonly background: 'meter' | 'reject';
  /** Largest request body that is read, in bytes; above it 413. */
  readonly maxBodyBytes: number;
  /** Output reserved for a request without a cap while nothing was learned, in tokens. */
  readonly unknownOutputTokens: number;
  /** The model's own largest output in tokens, where configured. */
  readonly maxOutputTokens: (model: string) => number | null;
  /** Whether a streamed request to this model may be edited to ask for usage (some servers refuse it). */
  readonly asksForUsage: (model: string) => boolean;
}

/** A pool as it was configured: which requests are its own, and what they take of it. */
export interface PoolPolicy {
  readonly settings: PoolSettings;
  readonly kind: 'self-hosted' | 'provider';
  readonly matches: (model: string) => boolean;
  /** What a token of uncached prompt weighs against one of output, in expected work. */
  readonly prefillWeight: number;
  /** Bytes of KV cache a token; 0 where the pool counts none. */
  readonly kvBytesPerToken: (model: string) => number;
  /** How long a request may wait, by its kind of work, in milliseconds. */
  readonly holdMs: Readonly<Record<Work, number>>;
  /** Tenant id → its own entitlement. Tenants below it share it, unless they have their own. */
  readonly entitlements: ReadonlyMap<string, PoolEntitlement>;
  /** What a tenant without any has: the lowest class configured here, without a baseline, for itself. */
  readonly implicit: (tenantId: string) => PoolEntitlement;
}

/** An entitlement, and the kind of work of its requests that do not say. */
export interface PoolEntitlement extends Entitlement {
  readonly defaultWork: Work;
}

/** Gives the policy in force now. Read it once a request, so that one request sees one policy. */
export type PolicySource = () => Policy;

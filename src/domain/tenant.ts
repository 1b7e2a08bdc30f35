import type { Enforcement } from './enforcement.js';

/** What a limit counts. The first four are rates a minute, the last is a number at one time. */
export type LimitDimension = 'requests' | 'tokens' | 'inputTokens' | 'outputTokens' | 'concurrency';

/** One bound on one dimension. A configured limit with several numbers becomes several of these. */
export interface Limit {
  /** Unique within its tenant and stable over reloads: the globs and the dimension, e.g. `gpt-4*:tokens`. */
  readonly id: string;
  readonly dimension: LimitDimension;
  /** Globs of the models it counts; `['*']` counts all. */
  readonly models: readonly string[];
  readonly matches: (model: string) => boolean;
  /** Units a minute; for concurrency: requests at one time. */
  readonly limit: number;
  /** What the bucket holds when full; for concurrency the same as `limit`. Units of the dimension, at least 1. */
  readonly capacity: number;
  /** Null: as the tenant. */
  readonly enforcement: Enforcement | null;
  /** Whether input read from the upstream's cache counts. */
  readonly countCachedInput: boolean;
}

/** Somebody whose use is counted: a customer, a team, a business unit above teams. */
export interface Tenant {
  readonly id: string;
  /** Whose limits apply too; null at the root. */
  readonly parentId: string | null;
  /** Its own id, or its template's: the name under which metrics show it, and by which it shares the template's entitlements. */
  readonly label: string;
  readonly allowsModel: (model: string) => boolean;
  readonly limits: readonly Limit[];
  /** Null: as configured globally. */
  readonly enforcement: Enforcement | null;
}

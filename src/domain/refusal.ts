/** The limits' names on the wire: `tokenweir.limit` in the body of a refusal. */
export type LimitName =
  | 'requests_per_minute'
  | 'tokens_per_minute'
  | 'input_tokens_per_minute'
  | 'output_tokens_per_minute'
  | 'concurrency'
  | 'request_too_large'
  // Of a pool: no room now, and it does not wait; too many wait already; waited as long as it may.
  | 'pool_busy'
  | 'queue_full'
  | 'queue_timeout';

/** Whose limit it is. */
export interface Scope {
  readonly kind: 'tenant' | 'parent' | 'pool';
  readonly id: string;
}

interface Base {
  readonly requestId: string;
  /** A sentence for the person who reads the client's log. */
  readonly message: string;
}

/** More than a limit has left now: 429. */
export interface LimitRefusal extends Base {
  readonly kind: 'limited';
  readonly limit: LimitName;
  readonly scope: Scope;
  readonly limitValue: number;
  readonly used: number;
  readonly needed: number;
  /** When this request would be admitted. */
  readonly retryAfterMs: number;
  readonly exact: boolean;
}

/** More than a limit can ever hold: 400. */
export interface TooLargeRefusal extends Base {
  readonly kind: 'too_large';
  readonly limit: 'request_too_large';
  readonly scope: Scope;
  readonly limitValue: number;
  readonly used: number;
  readonly needed: number;
}

/** Refusals that no limit caused. */
export interface PlainRefusal extends Base {
  readonly kind:
    | 'unauthenticated' // 401
    | 'model_not_allowed' // 403
    | 'bad_request' // 400
    | 'not_metered' // 403
    | 'unknown_path' // 404
    | 'body_too_large' // 413
    | 'unsupported_encoding' // 415
    | 'store_unavailable' // 503
    | 'draining'; // 503: held when the processor had to stop
  /** The request's field at fault, or null. */
  readonly field: string | null;
}

export type Refusal = LimitRefusal | TooLargeRefusal | PlainRefusal;

/** Label values of a refusal's reason: in metrics, log lines, `x-tokenweir-decision`. */
export type RefusalReason = Exclude<Refusal['kind'], 'limited' | 'too_large'> | LimitName;

/** One word for why. */
export function reasonOf(refusal: Refusal): RefusalReason {
  return refusal.kind === 'limited' || refusal.kind === 'too_large' ? refusal.limit : refusal.kind;
}

/** An answer of our own, ready to send. */
export interface LocalAnswer {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
}

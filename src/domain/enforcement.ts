/**
 * How a limit acts. `enforce` refuses. `shadow` decides, charges and records what it would have refused, and changes
 * nothing of the traffic. `off` neither decides nor charges.
 *
 * What shadow does, by place: `admission/opening` how a request is handled, `admission/exchange` no edit and no refusal
 * leaves, `quota/charges` and the store charge its limits apart, `extproc/request-side` and `response-side` let the traffic go
 * on and look at it beside.
 */
export type Enforcement = 'enforce' | 'shadow' | 'off';

const RANK: Record<Enforcement, number> = { off: 0, shadow: 1, enforce: 2 };

/** The weaker of two. */
export function weaker(a: Enforcement, b: Enforcement): Enforcement {
  return RANK[a] <= RANK[b] ? a : b;
}

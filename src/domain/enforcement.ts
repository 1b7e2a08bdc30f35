/**
 * How a limit acts. `enforce` refuses. `shadow` decides, charges and records what it would have refused, and changes
 * nothing of the traffic. `off` neither decides nor charges.
 */
export type Enforcement = 'enforce' | 'shadow' | 'off';

const RANK: Record<Enforcement, number> = { off: 0, shadow: 1, enforce: 2 };

/** The weaker of two. */
export function weaker(a: Enforcement, b: Enforcement): Enforcement {
  return RANK[a] <= RANK[b] ? a : b;
}

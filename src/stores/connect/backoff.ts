const FIRST_MS = 50;
const LONGEST_MS = 2_000;

/**
 * How long before the next attempt, by how many failed: doubling, up to 2 s, and a random half of it, so that processors
 * that lost the same server do not come back at the same moment. `random`: in [0, 1).
 */
export function backoff(random: () => number): (attempt: number) => number {
  return (attempt) => {
    const boundMs = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempt - 1, 10));
    return Math.round(boundMs / 2 + (random() * boundMs) / 2);
  };
}

/** Tells whether a name matches. */
export type Matcher = (name: string) => boolean;

/**
 * Compiles shell-like patterns: `*` stands for any run of characters, `?` for one; everything else is literal and
 * case matters. A list matches where any of its patterns does. Matching is linear in pattern × name: no backtracking
 * over more than the last star.
 */
export function globMatcher(patterns: readonly string[]): Matcher {
  if (patterns.includes('*')) return () => true;
  return (name) => patterns.some((pattern) => matches(pattern, name));
}

function matches(pattern: string, name: string): boolean {
  let p = 0;
  let n = 0;
  let star = -1;
  let resume = 0;
  while (n < name.length) {
    const c = pattern[p];
    if (c === '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.length && (c === '?' || c === name[n])) {
      p++;
      n++;
    } else if (star >= 0) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (pattern[p] === '*') p++;
  return p === pattern.length;
}

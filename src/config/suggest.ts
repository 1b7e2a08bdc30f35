/**
 * The candidate that `name` was most likely meant to be, or null where none is near. Near: edits (insert, delete, replace,
 * swap of neighbours) up to a third of the name's length, at most three; case does not count.
 */
export function nearest(name: string, candidates: Iterable<string>): string | null {
  const most = Math.min(3, Math.max(1, Math.floor(name.length / 3)));
  let best: string | null = null;
  let bestEdits = most + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - name.length) > most) continue;
    const edits = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (edits < bestEdits) [best, bestEdits] = [candidate, edits];
  }
  return best;
}

/** ` (did you mean "x"?)`, or nothing. */
export function didYouMean(suggestion: string | null): string {
  return suggestion === null ? '' : ` (did you mean "${suggestion}"?)`;
}

/** Optimal string alignment distance, by rows. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let edits = Math.min(previous[j]! + 1, row[j - 1]! + 1, previous[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) edits = Math.min(edits, before[j - 2]! + 1);
      row.push(edits);
    }
    [before, previous] = [previous, row];
  }
  return previous[b.length]!;
}

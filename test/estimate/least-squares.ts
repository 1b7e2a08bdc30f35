/** One row of a fit: `counts · weights` should be 1, all being divided by the true count. */
export interface Row {
  readonly counts: Float64Array;
  readonly tokens: number;
  readonly importance: number;
}

/**
 * Weights, none below zero, that make the sum of squared relative errors least, drawn towards `prior` with strength `ridge`:
 * what the rows say nothing about keeps its prior. Coordinate descent on the normal equations.
 */
export function fitWeights(rows: readonly Row[], prior: readonly number[], ridge: number): number[] {
  const n = prior.length;
  const { gram, moment } = normalEquations(rows, n);
  for (let i = 0; i < n; i++) {
    gram[i * n + i]! += ridge;
    moment[i]! += ridge * prior[i]!;
  }
  const weights = Float64Array.from(prior);
  for (let round = 0; round < 3000; round++) {
    for (let i = 0; i < n; i++) {
      let rest = moment[i]!;
      for (let j = 0; j < n; j++) if (j !== i) rest -= gram[i * n + j]! * weights[j]!;
      weights[i] = Math.max(0, rest / gram[i * n + i]!);
    }
  }
  return [...weights];
}

function normalEquations(rows: readonly Row[], n: number): { gram: Float64Array; moment: Float64Array } {
  const gram = new Float64Array(n * n);
  const moment = new Float64Array(n);
  for (const { counts, tokens, importance } of rows) {
    const present = [...counts.keys()].filter((i) => counts[i] !== 0);
    // Short texts have large relative errors that nobody minds.
    const scale = Math.sqrt(importance) / (tokens + 10);
    for (const i of present) {
      moment[i]! += counts[i]! * scale * tokens * scale;
      for (const j of present) gram[i * n + j]! += counts[i]! * counts[j]! * scale * scale;
    }
  }
  return { gram, moment };
}

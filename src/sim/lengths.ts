import type { Random } from './random.js';

/** How many tokens: always the same, or lognormal as lengths of real prompts and answers nearly are. */
export type Lengths =
  | { readonly kind: 'fixed'; readonly tokens: number }
  /** `sigma`: standard deviation of the logarithm. Cut to 1 … `max`. */
  | { readonly kind: 'lognormal'; readonly median: number; readonly sigma: number; readonly max: number }
  | { readonly kind: 'uniform'; readonly min: number; readonly max: number };

/** One length, at least 1. */
export function drawLength(lengths: Lengths, random: Random): number {
  switch (lengths.kind) {
    case 'fixed':
      return lengths.tokens;
    case 'lognormal':
      return Math.min(lengths.max, Math.max(1, Math.round(random.lognormal(lengths.median, lengths.sigma))));
    case 'uniform':
      return lengths.min + Math.floor(random.uniform() * (lengths.max - lengths.min + 1));
  }
}

/** Mean of a distribution. Lognormal: median · e^(σ²/2), without the cut. */
export function meanLength(lengths: Lengths): number {
  switch (lengths.kind) {
    case 'fixed':
      return lengths.tokens;
    case 'lognormal':
      return Math.min(lengths.max, lengths.median * Math.exp((lengths.sigma * lengths.sigma) / 2));
    case 'uniform':
      return (lengths.min + lengths.max) / 2;
  }
}

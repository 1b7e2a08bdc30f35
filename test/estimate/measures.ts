import type { Pair } from './pairs.js';

/** An estimate beside the truth. */
export interface Measured extends Pair {
  readonly estimate: number;
  /** |estimate − truth| / truth. */
  readonly error: number;
}

export function measured(pair: Pair, estimate: number): Measured {
  return { ...pair, estimate, error: Math.abs(estimate - pair.tokens) / pair.tokens };
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? NaN;
}

/** Within 30 % or 12 tokens. */
export function isNear({ estimate, tokens }: Measured): boolean {
  return Math.abs(estimate - tokens) <= Math.max(0.3 * tokens, 12);
}

export function shareNear(all: readonly Measured[]): number {
  return all.filter(isNear).length / all.length;
}

export function median(all: readonly Measured[]): number {
  return quantile(all.map(({ error }) => error), 0.5);
}

/** What the targets are about: pictures, files and sealed history are apart. */
export function judged(all: readonly Measured[]): { readonly plain: Measured[]; readonly long: Measured[]; readonly tools: Measured[] } {
  const clear = all.filter(({ media, opaque }) => !media && !opaque);
  const plain = clear.filter(({ tools }) => !tools);
  return { plain, long: plain.filter(({ tokens }) => tokens > 100), tools: clear.filter(({ tools }) => tools) };
}

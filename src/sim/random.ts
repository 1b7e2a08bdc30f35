/**
 * Chance of the simulator: sfc32 (Chris Doty-Humphrey's small fast chaotic generator, 32 bits, public domain), seeded by FNV-1a of a text.
 * Equal seed and name give equal numbers on every machine. Not for anything that must be unguessable.
 */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;
  readonly #seed: string;
  #spare: number | null = null;

  /** @param name tells streams of one seed apart, so that more draws of one tenant do not change those of another. */
  constructor(seed: number, name = '') {
    this.#seed = `${seed}/${name}`;
    this.#a = fnv1a(`a:${this.#seed}`);
    this.#b = fnv1a(`b:${this.#seed}`);
    this.#c = fnv1a(`c:${this.#seed}`);
    // The first draws still resemble the seed.
    for (let i = 0; i < 16; i++) this.#next32();
  }

  /** Uniform in [0, 1), with 53 bits. */
  uniform(): number {
    return ((this.#next32() >>> 5) * 67_108_864 + (this.#next32() >>> 6)) / 9_007_199_254_740_992;
  }

  /** Exponential with this mean. */
  exponential(mean: number): number {
    return -Math.log(1 - this.uniform()) * mean;
  }

  /** Standard normal: Marsaglia's polar method. */
  normal(): number {
    if (this.#spare !== null) {
      const value = this.#spare;
      this.#spare = null;
      return value;
    }
    for (;;) {
      const x = 2 * this.uniform() - 1;
      const y = 2 * this.uniform() - 1;
      const s = x * x + y * y;
      if (s >= 1 || s === 0) continue;
      const factor = Math.sqrt((-2 * Math.log(s)) / s);
      this.#spare = y * factor;
      return x * factor;
    }
  }

  /** Lognormal with this median; `sigma` is the standard deviation of its logarithm. */
  lognormal(median: number, sigma: number): number {
    return median * Math.exp(sigma * this.normal());
  }

  #next32(): number {
    const t = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (this.#c << 21) | (this.#c >>> 11);
    this.#c = (this.#c + t) | 0;
    return t;
  }
}

function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash | 0;
}

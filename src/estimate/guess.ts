import { TOKENIZERS, type Tokenizer } from './families.js';
import type { Overheads } from './overheads.js';
import { familyWith, predict } from './regressors.js';

/** After so many answers the tokenizer that explains them best is taken; the last time for good. */
const DECIDE_AFTER: readonly number[] = [6, 12, 24];
/** Answers to short prompts say more about what is around them. */
const LEAST_TOKENS = 60;
/** No single answer counts for more than this. */
const MOST_LOSS = 0.5;

/** An answer that was learned from: the prompt's vector and its true tokens. */
export interface Taught {
  readonly x: Readonly<Float64Array>;
  readonly tokens: number;
}

/** Finds out which tokenizer a model has whose name does not tell. Keeps its first answers, two dozen at most. */
export class TokenizerGuess {
  readonly #candidates: { readonly tokenizer: Tokenizer; readonly weights: Readonly<Float64Array>; loss: number }[];
  readonly taught: Taught[] = [];

  constructor(overheads: Overheads) {
    this.#candidates = TOKENIZERS.map((tokenizer) => ({ tokenizer, weights: familyWith(tokenizer, overheads).weights, loss: 0 }));
  }

  /** Nothing more will be decided. */
  get isOver(): boolean {
    return this.taught.length >= DECIDE_AFTER[DECIDE_AFTER.length - 1]!;
  }

  /** Takes an answer; the tokenizer to go on with where it is time to decide, else null. */
  take(x: Readonly<Float64Array>, tokens: number): Tokenizer | null {
    if (tokens < LEAST_TOKENS) return null;
    this.taught.push({ x, tokens });
    for (const one of this.#candidates) one.loss += Math.min(MOST_LOSS, Math.abs(Math.log(Math.max(1, predict(x, one.weights)) / tokens)));
    if (!DECIDE_AFTER.includes(this.taught.length)) return null;
    return this.#candidates.reduce((best, one) => (one.loss < best.loss ? one : best)).tokenizer;
  }
}

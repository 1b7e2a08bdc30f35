import { TEXT_FEATURES } from '../lib/text-features.js';
import { Accuracy } from './accuracy.js';
import { TOKENIZERS, type Tokenizer } from './families.js';
import { TokenizerGuess } from './guess.js';
import { Histogram } from './histogram.js';
import { Recursive, type Prior } from './recursive.js';
import { AT, familyWith, LEARNED, LENGTH, predict, type Family } from './regressors.js';

/** What an estimate may be off by when all weights are right: text of one kind is not all alike. */
const NOISE_SHARE = 0.08;
const NOISE_TOKENS = 2;
/** Of what is not learned: pictures, files. */
const OFFSET_NOISE = 0.4;
/** No weight moves further from its family's than this. */
const MOST = 8;
const LEAST = 0.1;
/** A gateway may put a long text of its own before each prompt, or with the tools. */
const MOST_ONCE = 20_000;
/** An estimate is at most so many times what the family alone says, and a hidden text. */
const MOST_RATIO = 8;
/** Residuals that are kept: in thousandths, about the last hundred. */
const RESIDUALS = 128;
/** An error is never told as more than this: figures that are wrong are off by any factor. */
const MOST_ERROR = 3;
/** So many answers weigh as much as what is assumed of the error before the first. */
const PRIOR_ANSWERS = 20;
/** After so many answers, and while its estimates are right, a model is learned of from this share of them: to learn takes longer than to estimate. */
const SURE_AFTER = 250;
const ROUTINE_SHARE = 1 / 8;
/** Fractional part of the golden ratio: what is picked by its multiples is in step with no traffic. */
const GOLDEN = 0.6180339887498949;
/** Changes when weights of an older program mean something else. */
export const STATE_VERSION = 1;

const TEXT = TEXT_FEATURES.length;

/** What was learned of one model's tokenizer and of what is put around prompts for it. */
export class Model {
  #observations = 0;
  /** Made with the first answer: it is large. */
  #recursive: Recursive | null = null;
  readonly #residuals = new Histogram(RESIDUALS);
  readonly #accuracy = new Accuracy();

  #family: Family;
  /** While it is not known what tokenizer the model has. */
  #guess: TokenizerGuess | null;

  constructor(family: Family) {
    this.#family = family;
    this.#guess = family.tokenizer === 'unknown' ? new TokenizerGuess(family.overheads) : null;
  }

  get family(): Family {
    return this.#family;
  }

  get observations(): number {
    return this.#observations;
  }

  get weights(): Readonly<Float64Array> {
    return this.#recursive?.weights ?? this.#family.weights;
  }

  /** Tokens of a prompt, a fraction. */
  predict(x: Readonly<Float64Array>): number {
    return Math.min(predict(x, this.weights), MOST_RATIO * predict(x, this.#family.weights) + MOST_ONCE);
  }

  /** `tokens`: the truth. Only for vectors of known references. */
  learn(x: Readonly<Float64Array>, tokens: number): void {
    const expected = this.predict(x);
    if (x.length !== LENGTH || !Number.isFinite(expected) || !Number.isFinite(tokens)) return;
    if (uncertain(x) <= expected / 2) this.#residuals.add(Math.round(1000 * Math.min(MOST_ERROR, Math.abs(tokens - expected) / Math.max(1, expected))));
    const noise = noiseOf(x, expected, tokens);
    this.#accuracy.take((tokens - expected) / noise);
    this.#observations++;
    if (!this.#isRoutine) this.#move(x, tokens - expected, noise);
    const guessed = this.#guess?.take(x, tokens) ?? null;
    if (guessed !== null) this.#beginAs(guessed);
  }

  /** Nothing new is to be expected of this answer: the model is known well, and its estimates have been right. A share is still learned from. */
  get #isRoutine(): boolean {
    const isPicked = (this.#observations * GOLDEN) % 1 < ROUTINE_SHARE;
    return !isPicked && this.#observations > SURE_AFTER && this.#guess === null && this.#accuracy.isGood;
  }

  #move(x: Readonly<Float64Array>, error: number, noise: number): void {
    this.#recursive ??= new Recursive(priorOf(this.#family));
    this.#recursive.learn(x, error, noise);
  }

  /** Learns anew, from another family's weights, what the first answers taught. */
  #beginAs(tokenizer: Tokenizer): void {
    const taught = this.#guess?.taught ?? [];
    this.#family = familyWith(tokenizer, this.#family.overheads);
    this.#recursive = null;
    for (const { x, tokens } of taught) {
      const expected = this.predict(x);
      this.#move(x, tokens - expected, noiseOf(x, expected, tokens));
    }
    if (this.#guess?.isOver === true) this.#guess = null;
  }

  /** How far the truth may lie from an estimate, nineteen times of twenty: from what was assumed to what was seen. */
  errorShare(assumed: number): number {
    if (this.#residuals.total === 0) return assumed;
    const seen = this.#residuals.quantile(0.95) / 1000;
    const n = this.#observations;
    return (n * seen + PRIOR_ANSWERS * assumed) / (n + PRIOR_ANSWERS);
  }

  /** As JSON, below 32 KB; null while nothing was learned. */
  state(): string | null {
    if (this.#recursive === null) return null;
    const short = (value: number): number => Number(value.toPrecision(6));
    return JSON.stringify({
      version: STATE_VERSION,
      features: TEXT,
      tokenizer: this.#family.tokenizer,
      observations: this.#observations,
      error: this.#residuals.quantile(0.95),
      weights: [...this.#recursive.weights].map(short),
      covariance: this.#recursive.triangle().map((value) => Number(value.toPrecision(4))),
    });
  }

  /** Reads what `state` wrote; null where it can't be read or is of another version. */
  static from(text: string, family: Family): Model | null {
    const state = parsed(text);
    if (state === null || state['version'] !== STATE_VERSION || state['features'] !== TEXT) return null;
    const { observations, error, weights, covariance } = state;
    const tokenizer = TOKENIZERS.find((name) => name === state['tokenizer']);
    if (tokenizer === undefined) return null;
    const model = new Model(familyWith(tokenizer, family.overheads));
    model.#guess = null;
    if (!isCount(observations) || !isCount(error) || !isNumbers(weights) || !isNumbers(covariance)) return null;
    model.#recursive = new Recursive(priorOf(model.#family));
    if (!model.#recursive.restore(weights, covariance)) return null;
    model.#observations = observations;
    model.#residuals.add(error);
    return model;
  }
}

/** What an estimate may be off by with the right weights, in tokens. */
function noiseOf(x: Readonly<Float64Array>, expected: number, tokens: number): number {
  return NOISE_TOKENS + NOISE_SHARE * (Math.min(tokens, 4 * expected) + expected) * 0.5 + OFFSET_NOISE * uncertain(x);
}

/** Tokens of what no weight stands for. */
function uncertain(x: Readonly<Float64Array>): number {
  return x[AT.media]! + x[AT.references]!;
}

function priorOf({ weights, overheads }: Family): Prior {
  const spread = Float64Array.from(weights, (weight, i) => (i < TEXT ? 0.05 + 0.35 * weight : 0.4 * weight));
  spread[AT.toolText] = 0.3;
  spread[AT.schema] = 0.3;
  spread[AT.messages] = 2;
  spread[AT.tools] = 10;
  spread[AT.hasTools] = 100 + 0.4 * overheads.toolsPreamble;
  spread[AT.toolMessages] = 10;
  spread[AT.hasSchema] = 40;
  spread[AT.reasoning] = 20;
  spread[AT.once] = 15;
  const common = Float64Array.from(weights, (weight, i) => (i < TEXT + 1 ? 0.25 * weight : 0));
  const least = Float64Array.from(weights, (weight) => LEAST * weight);
  const most = Float64Array.from(weights, (weight, i) => MOST * weight + (i < AT.messages ? 0.5 : i === AT.hasTools || i === AT.once ? MOST_ONCE : 50));
  return { weights, spread, common, least, most };
}

function parsed(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : null;
  } catch {
    return null;
  }
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function isNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.length <= LEARNED * LEARNED && value.every((one) => typeof one === 'number');
}

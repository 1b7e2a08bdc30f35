import type { ResponseReading } from '../../domain/wire.js';
import type { Usage, UsageLine } from '../../domain/usage.js';
import { TextCounter, type TextFeatures } from '../../lib/text-features.js';
import { MAX_MODEL_LENGTH } from '../json/fields.js';
import type { Json, JsonObject } from '../json/json.js';

/** Longest id of an answer that is kept. */
const MAX_ID_LENGTH = 256;

/**
 * What an answer tells, put together part by part: an event of a stream, a line, a frame, or a whole body. Each API extends it by
 * what its parts look like. Never throws, whatever the values are.
 */
export abstract class Answer implements ResponseReading {
  readonly #counter = new TextCounter();
  #texts = 0;
  lines: readonly UsageLine[] | null = null;
  responseId: string | null = null;
  model: string | null = null;
  serviceTier: string | null = null;
  sawOutput = false;
  outputPieces = 0;
  sawError = false;
  complete = false;
  unreadable = false;

  /** The upstream's own figures; null while there are none. */
  abstract readonly usage: Usage | null;

  /** Takes the next part. `event`: its name, where the framing gives it one. */
  abstract take(part: JsonObject, event: string | null): void;

  /** Whether a part that was just taken is one that only our own edit of the request caused: hidden where that is asked for. */
  isOurs: (part: JsonObject) => boolean = () => false;

  /** The stream ended without a mark of its end: whether it is whole all the same. */
  endsWhole(): boolean {
    return this.complete;
  }

  get output(): Readonly<TextFeatures> {
    return this.#counter.features;
  }

  /** How many texts were put out until now: a part that adds some is a piece of output. */
  protected get texts(): number {
    return this.#texts;
  }

  /** Output text of the model: content, reasoning, tool-call arguments. Anything else than a text is nothing. */
  protected text(value: Json): void {
    if (typeof value !== 'string' || value === '') return;
    this.sawOutput = true;
    this.#texts++;
    this.#counter.add(value);
  }
}

/** A name that an answer tells of itself; null where it is none. */
export function nameOf(value: Json): string | null {
  return typeof value === 'string' && value !== '' && value.length <= MAX_MODEL_LENGTH ? value : null;
}

/** The id that an answer tells of itself; null where it is none. */
export function idOf(value: Json): string | null {
  return typeof value === 'string' && value !== '' && value.length <= MAX_ID_LENGTH ? value : null;
}

/** More than any answer can cost: larger figures are garbage. */
const MAX_PLAUSIBLE = 2 ** 31 - 1;

/** A number of tokens; null for anything else. */
export function tokenCount(value: Json): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_PLAUSIBLE ? value : null;
}

import type { ResponseReading } from '../../domain/wire.js';
import type { Usage, UsageLine } from '../../domain/usage.js';
import { TextCounter, type TextFeatures } from '../../lib/text-features.js';
import { MAX_MODEL_LENGTH } from '../json/fields.js';
import { isObject, type Json, type JsonObject } from '../json/json.js';

/** Longest id of an answer that is kept. */
const MAX_ID_LENGTH = 256;

/** What taking a part counted. */
export interface Counted {
  /** Its output texts, in the order in which they were counted. */
  readonly texts: readonly string[];
  readonly pieces: number;
}

/**
 * What an answer tells, put together part by part: an event of a stream, a line, a frame, or a whole body. Each API extends it by
 * what its parts look like. Never throws, whatever the values are.
 */
export abstract class Answer implements ResponseReading {
  readonly #counter = new TextCounter();
  #texts = 0;
  /** Texts of a rehearsal, which are not counted; null outside one. */
  #rehearsed: string[] | null = null;
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

  /**
   * Takes the next part. `event`: its name, where the framing gives it one.
   *
   * Most parts of a stream differ from the one before in their output text only, and are not taken at all: their texts are
   * counted and that is all. So taking a part a second time must change nothing but `text`'s counts and `outputPieces`, what
   * is needed of a part must be read at once, and what a text says must not matter, only whether it is empty.
   */
  abstract take(part: JsonObject, event: string | null): void;

  /** Whether a part that was just taken, and that had no output text, is one that only our own edit of the request caused. */
  isOurs: (part: JsonObject) => boolean = () => false;

  /** The stream ended without a mark of its end: whether it is whole all the same. */
  endsWhole(): boolean {
    return this.complete;
  }

  get output(): Readonly<TextFeatures> {
    return this.#counter.features;
  }

  /** How many texts were put out until now: a part that adds some is a piece of output. */
  get texts(): number {
    return this.#texts;
  }

  /** What a part names as its error: an object, or with some servers a text. */
  protected error(error: Json): void {
    if (isObject(error) || (typeof error === 'string' && error !== '')) this.sawError = true;
  }

  /** Takes a part that was taken before, once more, and tells what that would count; counts nothing. */
  rehearse(part: JsonObject, event: string | null): Counted {
    const { outputPieces } = this;
    const texts = this.#texts;
    const rehearsed: string[] = [];
    this.#rehearsed = rehearsed;
    this.take(part, event);
    this.#rehearsed = null;
    const pieces = this.outputPieces - outputPieces;
    this.outputPieces = outputPieces;
    this.#texts = texts;
    return { texts: rehearsed, pieces };
  }

  /** Counts texts of a part that is not taken, since it differs from one that was in those only. Neither is empty. */
  more(text: string): void {
    this.#texts++;
    this.#counter.add(text);
  }

  /** The same for a text that is ASCII and stands in `bytes`. */
  moreAscii(bytes: Buffer, start: number, end: number): void {
    this.#texts++;
    this.#counter.addAscii(bytes, start, end);
  }

  /** Output text of the model: content, reasoning, tool-call arguments. Anything else than a text is nothing. */
  protected text(value: Json): void {
    if (typeof value !== 'string' || value === '') return;
    this.#texts++;
    if (this.#rehearsed !== null) this.#rehearsed.push(value);
    else {
      this.sawOutput = true;
      this.#counter.add(value);
    }
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

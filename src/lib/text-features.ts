import { SCRIPT_CLASS, TEXT_FEATURES, TRANSITIONS } from './text-classes.js';

export { TEXT_FEATURES } from './text-classes.js';

/** Counts of one text, one number for each of `TEXT_FEATURES`. Counts of texts that stand apart may be added up. */
export type TextFeatures = Float64Array;

const { next, bumps } = TRANSITIONS;
/** From this length on it is cheaper to count transitions first and to add up what they mean afterwards. */
const LONG = 64;
/** How often each transition was seen in the piece at hand, and which: all zero between pieces. */
const seen = new Int32Array(next.length);
const touched = new Int32Array(next.length);

/** Features of an empty text. */
export function noText(): TextFeatures {
  return new Float64Array(TEXT_FEATURES.length);
}

/**
 * Counts a text that may come in pieces: cut anywhere, the counts are those of the whole. Linear in the length, allocates
 * nothing that grows with it. More text never lowers a count.
 */
export class TextCounter {
  readonly features: TextFeatures = noText();
  /** Row of the table of transitions: what the character before was, and how long its run. */
  #row = 0;

  /** Takes the next piece of the text. */
  add(text: string): void {
    if (text.length < LONG) this.#addShort(text);
    else this.#addLong(text);
  }

  /** What comes next is another text: a word does not go on in it. */
  cut(): void {
    this.#row = 0;
  }

  /** Takes bytes of ASCII as the next piece: text of other bytes has to be decoded and given to `add`. */
  addAscii(bytes: Uint8Array, start: number, end: number): void {
    let row = this.#row;
    for (let i = start; i < end; i++) {
      const at = row + SCRIPT_CLASS[bytes[i]!]!;
      this.#bump(bumps[at]!, 1);
      row = next[at]!;
    }
    this.#row = row;
  }

  #addShort(text: string): void {
    let row = this.#row;
    for (let i = 0; i < text.length; i++) {
      const at = row + SCRIPT_CLASS[text.charCodeAt(i)]!;
      const bump = bumps[at]!;
      if (bump !== 0) this.#bump(bump, 1);
      row = next[at]!;
    }
    this.#row = row;
  }

  #addLong(text: string): void {
    let row = this.#row;
    let kinds = 0;
    for (let i = 0; i < text.length; i++) {
      const at = row + SCRIPT_CLASS[text.charCodeAt(i)]!;
      const times = seen[at]!;
      if (times === 0) touched[kinds++] = at;
      seen[at] = times + 1;
      row = next[at]!;
    }
    this.#row = row;
    this.#gather(kinds);
  }

  #gather(kinds: number): void {
    for (let i = 0; i < kinds; i++) {
      const at = touched[i]!;
      this.#bump(bumps[at]!, seen[at]!);
      seen[at] = 0;
    }
  }

  /** `bump`: up to four features, a byte each, counted from 1. */
  #bump(bump: number, times: number): void {
    for (let rest = bump; rest !== 0; rest >>>= 8) this.features[(rest & 255) - 1]! += times;
  }
}

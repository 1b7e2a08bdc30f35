/** What a label value becomes once its label has no room for another. */
export const OTHER = 'other';
/** What an empty value becomes: Prometheus takes an empty label for one that is not there. */
export const NONE = 'none';

export interface LabelBounds {
  /** Distinct values that are told apart. */
  readonly maxValues: number;
  /** Of those, how many one owner may bring in. */
  readonly maxPerOwner: number;
  /** Longest value, in UTF-16 units; the rest is cut. */
  readonly maxLength: number;
}

/** Nearly every value, and much quicker to recognise than to clean. */
const PLAIN = /^[\x20-\x7e]+$/;
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/**
 * Makes any text fit for a label, a log field or a span attribute: cut to `maxLength`, control and format characters, line
 * ends and halves of surrogate pairs replaced by `_`. An empty text becomes `none`.
 */
export function cleanLabel(value: string, maxLength: number): string {
  const cut = value.length > maxLength ? value.slice(0, maxLength) : value;
  if (PLAIN.test(cut)) return cut;
  return cut === '' ? NONE : cut.replace(UNPRINTABLE, '_');
}

/**
 * The values of one label, at most so many. First come, first kept: a value that is in is never pushed out again, because
 * a counter that vanishes and returns reads as a reset. What comes after the bound is `other`.
 *
 * Two ways in. `admit` is for values that somebody vouched for (an operator's configuration, an upstream that answered
 * for that model). `lookup` is for what a client merely claims: it shows a value only if that is in already. The bound for
 * each owner keeps one tenant whose upstream answers to any name from using up the room of all.
 */
export class BoundedLabels {
  readonly #values = new Set<string>();
  readonly #brought = new Map<string, number>();

  constructor(private readonly bounds: LabelBounds) {}

  /** The label of a vouched-for value; takes it in while there is room. */
  admit(value: string, owner = ''): string {
    if (this.#values.has(value)) return value;
    const label = cleanLabel(value, this.bounds.maxLength);
    if (this.#values.has(label)) return label;
    const brought = this.#brought.get(owner) ?? 0;
    if (this.#values.size >= this.bounds.maxValues || brought >= this.bounds.maxPerOwner) return OTHER;
    this.#brought.set(owner, brought + 1);
    this.#values.add(label);
    return label;
  }

  /** The label of a claimed value: `other` unless it is known. */
  lookup(value: string): string {
    if (this.#values.has(value)) return value;
    const label = cleanLabel(value, this.bounds.maxLength);
    return label === NONE || this.#values.has(label) ? label : OTHER;
  }

  /** Distinct values that are in, `other` not counted. */
  get size(): number {
    return this.#values.size;
  }
}

import type { JsonObject } from '../json/json.js';
import type { Answer, Counted } from './answer.js';
import { Leaves, type Leaf } from './leaves.js';
import { Shape, type Slot } from './shape.js';

/** Shapes that are known: a stream alternates between few, those of its choices say. */
const MAX_KNOWN = 4;
/** Longer parts are no examples. */
const MAX_EXAMPLE_BYTES = 4096;
const MAX_SLOTS = 64;
/** Shapes that may be learned for nothing, and parts that each further one must have saved. */
const FREE_LESSONS = 16;
const PARTS_PER_LESSON = 8;

interface Known {
  /** Other values are allowed in the texts and in the `open` leaves only: comparing is faster than looking for the end of a value. */
  readonly shape: Shape;
  /** Other values are allowed wherever nobody looks. */
  readonly loose: Shape;
  readonly leaves: readonly Leaf[];
  /** Those that nobody looks at and that were seen with several values. */
  readonly open: ReadonlySet<number>;
  /** The example itself, to be taken where other parts came since. */
  readonly part: JsonObject;
  readonly event: string | null;
}

/** How a part stands in the stream: the bytes of it and its framing, which end in an LF, and where its JSON begins, all on one line. */
export interface Example {
  readonly bytes: Buffer;
  readonly start: number;
}

/**
 * Knows the parts of a stream that differ from one seen before in nothing but their output texts and in values that the answer does not
 * look at. Such a part is counted and not parsed, which is several times as fast.
 *
 * What an answer looks at is seen, not guessed: it takes the example again in a watched form, and once more with its texts exchanged.
 */
export class Familiar {
  #known: Known[] = [];
  /** The answer is as it was after this part, but for texts. */
  #last: Known | null = null;
  /** No known part has fewer bytes. */
  #shortest = Infinity;
  #lessons = 0;
  #parts = 0;

  /** `maxBytes`: longer parts are never familiar. */
  constructor(
    readonly answer: Answer,
    readonly maxBytes: number,
  ) {}

  /** Takes the familiar parts that follow each other from `from` on; returns the offset behind them. `view`: of `bytes`. */
  skip(bytes: Buffer, view: DataView, from: number, to: number): number {
    let at = from;
    while (to - at >= this.#shortest) {
      const end = this.#skipOne(bytes, view, at, to);
      if (end < 0) break;
      at = end;
    }
    return at;
  }

  /** Has the answer take a part, and learns from it. `example`: null where that can't be done. Returns how many texts it counted. */
  take(part: JsonObject, event: string | null, example: Example | null): number {
    const { texts, outputPieces } = this.answer;
    this.answer.take(part, event);
    this.#last = null;
    const counted = this.answer.texts - texts;
    if (counted > 0 && example !== null) this.#learn(part, event, example, counted, this.answer.outputPieces - outputPieces);
    return counted;
  }

  #skipOne(bytes: Buffer, view: DataView, from: number, to: number): number {
    for (let i = 0; i < this.#known.length; i++) {
      const known = this.#known[i]!;
      const end = known.shape.match(bytes, view, from, to);
      if (end < 0 || end - from > this.maxBytes) continue;
      if (known !== this.#last && !this.#isAsLast(known, i)) return -1;
      known.shape.count(bytes, this.answer);
      this.#parts++;
      return end;
    }
    return -1;
  }

  /** Other parts came since: what the known one tells beside its texts counts again. False: it would count other things now. */
  #isAsLast(known: Known, index: number): boolean {
    const { texts, pieces } = this.answer.rehearse(known.part, known.event);
    const same = texts.length === known.shape.counted.length && pieces === known.shape.pieces;
    this.#known.splice(index, 1);
    if (same) this.#known.unshift(known);
    this.#last = same ? known : null;
    return same;
  }

  #learn(part: JsonObject, event: string | null, { bytes, start }: Example, texts: number, pieces: number): void {
    if (bytes.length > MAX_EXAMPLE_BYTES || this.#lessons >= FREE_LESSONS + this.#parts / PARTS_PER_LESSON) return;
    this.#lessons++;
    const leaves = Leaves.of(bytes, start, part);
    if (leaves === null) return;
    const counted = this.#countedLeaves(leaves, part, event, texts, pieces);
    // Whatever the watched parts left behind in the answer goes as it came: the last value wins.
    const again = this.answer.rehearse(part, event);
    if (counted === null || again.pieces !== pieces || again.texts.length !== texts) return;
    this.#keep(leaves.all, counted, { part, event, pieces, bytes });
  }

  #keep(leaves: readonly Leaf[], counted: readonly Leaf[], { part, event, pieces, bytes }: { part: JsonObject; event: string | null; pieces: number; bytes: Buffer }): void {
    const free = leaves.filter((leaf) => !leaf.read || counted.includes(leaf));
    if (free.length > MAX_SLOTS) return;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    // Of the same shape: leaf by leaf the same, but for their values.
    const like = this.#known.find(({ loose }) => loose.match(bytes, view, 0, bytes.length) === bytes.length);
    const open = new Set([...leaves.keys()].filter((index) => like !== undefined && !leaves[index]!.read && (like.open.has(index) || like.leaves[index]?.value !== leaves[index]!.value)));
    const slotted = free.filter((leaf) => counted.includes(leaf) || open.has(leaves.indexOf(leaf)));
    this.#last = { shape: shapeOf(bytes, slotted, counted, pieces), loose: shapeOf(bytes, free, counted, pieces), leaves, open, part, event };
    this.#known = [this.#last, ...this.#known.filter((known) => known !== like).slice(0, MAX_KNOWN - 1)];
    this.#shortest = Math.min(...this.#known.map((known) => known.shape.length));
  }

  /** The leaves whose texts are counted, in the order of counting; null where that cannot be told. */
  #countedLeaves(leaves: Leaves, part: JsonObject, event: string | null, texts: number, pieces: number): Leaf[] | null {
    const first = this.#watch(leaves, part, event);
    if (first.texts.length !== texts || first.pieces !== pieces) return null;
    const read = leaves.all.filter((leaf) => leaf.read);
    const candidates = new Map<string, Leaf>();
    read.filter(({ value }) => typeof value === 'string' && first.texts.includes(value)).forEach((leaf, index) => {
      leaf.mark = markOf(index);
      candidates.set(leaf.mark, leaf);
    });
    const second = this.#watch(leaves, part, event);
    if (second.pieces !== pieces || second.texts.length !== texts || leaves.all.filter((leaf) => leaf.read).length !== read.length) return null;
    const counted = second.texts.map((text, index) => {
      const leaf = candidates.get(text);
      return leaf?.value === first.texts[index] ? leaf : undefined;
    });
    return counted.every((leaf) => leaf !== undefined) ? counted : null;
  }

  #watch(leaves: Leaves, part: JsonObject, event: string | null): Counted {
    const counted = this.answer.rehearse(leaves.watched(part), event);
    // An answer might look at what it kept only now.
    void [this.answer.usage, this.answer.lines];
    return counted;
  }
}

/** Like nothing that an API says. */
function markOf(index: number): string {
  return `\u0000text ${index}\u0000`;
}

function shapeOf(example: Buffer, slotted: readonly Leaf[], counted: readonly Leaf[], pieces: number): Shape {
  return new Shape(example, slotted.map((leaf) => slotOf(leaf, counted)), counted.map((leaf) => slotted.indexOf(leaf)), pieces);
}

function slotOf(leaf: Leaf, counted: readonly Leaf[]): Slot {
  const { start, end } = leaf;
  if (typeof leaf.value === 'number') return { kind: 'number', start, end };
  return { kind: counted.includes(leaf) ? 'text' : 'string', start, end };
}

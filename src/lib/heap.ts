/** What a heap holds: an item with its key. A node is in one heap at most. */
export class HeapNode<T> {
  key = 0;
  /** Where it is in its heap; -1: in none. */
  position = -1;

  /** `name` decides between equal keys, so that the order is the same everywhere. */
  constructor(
    readonly item: T,
    readonly name: string,
  ) {}
}

/**
 * A binary heap, smallest key first, that knows where each of its nodes is: any of them can be moved or removed in O(log n).
 * Keys are numbers; of equal ones the smaller name is first, as in a sorted set of Redis.
 */
export class Heap<T> {
  readonly #nodes: HeapNode<T>[] = [];

  get size(): number {
    return this.#nodes.length;
  }

  first(): HeapNode<T> | null {
    return this.#nodes[0] ?? null;
  }

  /** Inserts a node, or moves it to its new key. */
  put(node: HeapNode<T>, key: number): void {
    if (node.position < 0) {
      node.key = key;
      node.position = this.#nodes.length;
      this.#nodes.push(node);
      this.#rise(node);
    } else if (node.key !== key) {
      node.key = key;
      this.#rise(node);
      this.#sink(node);
    }
  }

  /** Takes a node out; one that is in no heap stays so. */
  remove(node: HeapNode<T>): void {
    const { position } = node;
    if (position < 0) return;
    node.position = -1;
    const last = this.#nodes.pop()!;
    if (last === node) return;
    this.#set(last, position);
    this.#rise(last);
    this.#sink(last);
  }

  /** The first items in order, at most `count`. Costs by `count`, not by the size of the heap. */
  smallest(count: number): T[] {
    const found: T[] = [];
    const frontier: HeapNode<T>[] = this.#nodes.length > 0 ? [this.#nodes[0]!] : [];
    while (found.length < count && frontier.length > 0) {
      const at = leastOf(frontier);
      const node = frontier[at]!;
      found.push(node.item);
      const left = this.#nodes[2 * node.position + 1];
      const right = this.#nodes[2 * node.position + 2];
      frontier[at] = frontier[frontier.length - 1]!;
      frontier.pop();
      if (left !== undefined) frontier.push(left);
      if (right !== undefined) frontier.push(right);
    }
    return found;
  }

  #rise(node: HeapNode<T>): void {
    let { position } = node;
    while (position > 0) {
      const parent = this.#nodes[(position - 1) >> 1]!;
      if (!isBefore(node, parent)) break;
      this.#set(parent, position);
      position = (position - 1) >> 1;
    }
    this.#set(node, position);
  }

  #sink(node: HeapNode<T>): void {
    let { position } = node;
    for (;;) {
      let child = this.#nodes[2 * position + 1];
      if (child === undefined) break;
      const right = this.#nodes[2 * position + 2];
      if (right !== undefined && isBefore(right, child)) child = right;
      if (!isBefore(child, node)) break;
      const below = child.position;
      this.#set(child, position);
      position = below;
    }
    this.#set(node, position);
  }

  #set(node: HeapNode<T>, position: number): void {
    this.#nodes[position] = node;
    node.position = position;
  }
}

function isBefore<T>(a: HeapNode<T>, b: HeapNode<T>): boolean {
  return a.key < b.key || (a.key === b.key && a.name < b.name);
}

function leastOf<T>(nodes: readonly HeapNode<T>[]): number {
  let least = 0;
  for (let i = 1; i < nodes.length; i++) if (isBefore(nodes[i]!, nodes[least]!)) least = i;
  return least;
}

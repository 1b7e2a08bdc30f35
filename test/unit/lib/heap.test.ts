import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Fifo } from '../../../src/lib/fifo.js';
import { Heap, HeapNode } from '../../../src/lib/heap.js';

const ops = fc.array(fc.record({ n: fc.nat({ max: 20 }), key: fc.nat({ max: 9 }), remove: fc.boolean() }), { maxLength: 80 });

test('a heap is always in order, whatever is put, moved and removed', () => {
  fc.assert(
    fc.property(ops, (steps) => {
      const heap = new Heap<string>();
      const nodes = Array.from({ length: 21 }, (_, n) => new HeapNode(`n${n}`, `n${n}`));
      const model = new Map<string, number>();
      for (const { n, key, remove } of steps) {
        const node = nodes[n]!;
        if (remove) heap.remove(node);
        else heap.put(node, key);
        if (remove) model.delete(node.name);
        else model.set(node.name, key);
        const sorted = [...model].sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1)).map(([name]) => name);
        expect(heap.smallest(5)).toEqual(sorted.slice(0, 5));
        expect(heap.first()?.name).toBe(sorted[0]);
        expect(heap.size).toBe(model.size);
      }
    }),
  );
});

test('first in, first out', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 200 }), (steps) => {
      const fifo = new Fifo<number>();
      const model: number[] = [];
      for (const [i, push] of steps.entries()) {
        if (push) {
          fifo.push(i);
          model.push(i);
        } else expect(fifo.shift()).toBe(model.shift());
        expect(fifo.peek()).toBe(model[0]);
        expect(fifo.size).toBe(model.length);
      }
    }),
  );
});

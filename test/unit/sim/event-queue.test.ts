import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Deque } from '../../../src/sim/deque.js';
import { EventQueue } from '../../../src/sim/event-queue.js';
import { SequenceHeap, type HeapItem } from '../../../src/sim/sequence-heap.js';

describe('the queue of events', () => {
  it('gives events by time, equal times in the order in which they were added, also beyond its first size', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 3000 }), (times) => {
        const queue = new EventQueue();
        times.forEach((time, i) => queue.add(time, i % 7, i, i + 1));
        const taken: [number, number][] = [];
        while (queue.take()) {
          expect([queue.kind, queue.version]).toEqual([queue.subject % 7, queue.subject + 1]);
          taken.push([queue.timeMs, queue.subject]);
        }
        expect(taken).toEqual(times.map((time, i): [number, number] => [time, i]).sort((a, b) => a[0] - b[0] || a[1] - b[1]));
      }),
      { numRuns: 50 },
    );
  });

  it('says when the next is, and Infinity when there is none', () => {
    const queue = new EventQueue();
    expect(queue.peekMs()).toBe(Infinity);
    expect(queue.take()).toBe(false);
    queue.add(5, 1);
    expect([queue.peekMs(), queue.length]).toEqual([5, 1]);
  });
});

describe('sequences by key', () => {
  it('stay in order while any of them is taken out', () => {
    const step = fc.oneof(fc.record({ add: fc.integer({ min: 0, max: 50 }) }), fc.record({ drop: fc.nat(60) }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const heap = new SequenceHeap<HeapItem>();
        let known: HeapItem[] = [];
        for (const one of steps) {
          if ('add' in one) {
            const item = { heapIndex: -1, heapKey: 0 };
            heap.add(item, one.add);
            known.push(item);
          } else if (known.length > 0) {
            const item = known[one.drop % known.length]!;
            heap.remove(item);
            heap.remove(item);
            known = known.filter((other) => other !== item);
          }
          expect(heap.length).toBe(known.length);
          expect(heap.peek()?.heapKey).toBe(known.length === 0 ? undefined : Math.min(...known.map(({ heapKey }) => heapKey)));
        }
      }),
    );
  });
});

describe('the queue with two ends', () => {
  it('gives in order, what came back to the front first', () => {
    const queue = new Deque<number>();
    for (let i = 0; i < 5000; i++) queue.push(i);
    for (let i = 0; i < 3000; i++) expect(queue.shift()).toBe(i);
    queue.unshift(-1);
    queue.unshift(-2);
    expect([queue.length, queue.peek()]).toEqual([2002, -2]);
    expect([...queue].slice(0, 3)).toEqual([-2, -1, 3000]);
    expect([queue.shift(), queue.shift(), queue.shift()]).toEqual([-2, -1, 3000]);
  });
});

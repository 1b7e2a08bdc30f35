import { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { joinWritesOn } from '../../../../src/stores/connect/joined-writes.js';

/** A stream, and what reached its other end by each system call. */
function recorded(): { readonly stream: Duplex; readonly calls: string[] } {
  const calls: string[] = [];
  const stream = new Duplex({
    read: () => undefined,
    writev: (chunks, done) => {
      calls.push(chunks.map(({ chunk }) => String(chunk)).join(''));
      done();
    },
  });
  return { stream, calls };
}

describe('writes of one turn', () => {
  test('go together and in order; those of the next turn by themselves', async () => {
    const { stream, calls } = recorded();
    joinWritesOn(stream);
    for (const text of ['a', 'b', 'c']) stream.write(text);
    expect(calls).toEqual([]);
    await turn();
    stream.write('d');
    await turn();
    expect(calls).toEqual(['abc', 'd']);
  });

  test('are lost with a stream that was destroyed, without a fault', async () => {
    const { stream, calls } = recorded();
    joinWritesOn(stream);
    stream.write('a');
    stream.destroy();
    await turn();
    expect(calls).toEqual([]);
  });
});

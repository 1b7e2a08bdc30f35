import { describe, expect, test } from 'vitest';
import { reportLines } from '../../../src/demo/report.js';
import { createScreen, NO_COLOUR } from '../../../src/demo/screen.js';
import { tableLines } from '../../../src/demo/table.js';
import { GOOD } from './told.js';

describe('the table of the demo (point 9)', () => {
  const lines = reportLines(GOOD, 'the simulated server', NO_COLOUR);

  test('has estimate, decision, status, wait, ledger and upstream of every request', () => {
    expect(lines).toContainEqual(expect.stringMatching(/^2 {2}alder +streamed +30 \+ 80 +admitted +200 +– +20 \+ 60 +20 \+ 60$/));
    expect(lines).toContainEqual(expect.stringMatching(/^5 {2}birch +again +520 in all +refused +429 +2431 ms \(3 s\) +– +–$/));
    expect(lines).toContainEqual(expect.stringMatching(/^7 {2}cedar +leaves +24 \+ 400 +admitted +200 +– +≈ 24 \+ 18 +20 \+ 23$/));
  });

  test('has the sums of every tenant, and says why one differs', () => {
    expect(lines).toContainEqual(expect.stringMatching(/^alder +3 +0 +60 \+ 180 +60 \+ 180 +none$/));
    expect(lines).toContainEqual(expect.stringMatching(/^birch +3 +1 +40 \+ 120 +40 \+ 120 +none$/));
    expect(lines).toContainEqual(expect.stringMatching(/^cedar +1 +0 +24 \+ 18 +20 \+ 23 +\+4 in, -5 out$/));
    expect(lines.join(' ')).toContain('never told its usage');
  });

  test('explains no difference where there is none', () => {
    const same = { ...GOOD, charged: { ...GOOD.charged, cedar: { input: 20, output: 23 } } };
    expect(reportLines(same, 'the simulated server', NO_COLOUR).join(' ')).not.toContain('never told its usage');
  });

  test('keeps columns under their titles', () => {
    expect(tableLines([{ title: 'a' }, { title: 'long', right: true }], [['word', '1'], ['x', '22']])).toEqual(['a     long', '────  ────', 'word     1', 'x       22']);
  });
});

describe('colours', () => {
  test.each([
    ['a terminal', { isTTY: true }, {}, true],
    ['a terminal with NO_COLOR', { isTTY: true }, { NO_COLOR: '1' }, false],
    ['a pipe', {}, {}, false],
    ['a dumb terminal', { isTTY: true }, { TERM: 'dumb' }, false],
  ])('on %s', (_name, output, env, coloured) => {
    const { paint } = createScreen({ ...output, write: () => undefined, on: () => undefined }, env, () => undefined);
    expect(paint.good('yes')).toBe(coloured ? '\u001b[32myes\u001b[0m' : 'yes');
  });
});

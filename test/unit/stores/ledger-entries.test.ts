import { describe, expect, test } from 'vitest';
import type { UsageLine } from '../../../src/domain/usage.js';
import { abandonedEvent, correctionEvent, figuresOf, periodsOf, saneConsumption, takingBackEvent } from '../../../src/stores/ledger-entries.js';
import { draft, event, used } from '../../conformance/store-builders.js';

const line = (kind: UsageLine['kind'], tokens: number, model = 'm'): UsageLine => ({ model, serviceTier: null, kind, tokens });

test('figures are made sane before they are charged', () => {
  expect(saneConsumption(used(-1, 2.7, 5))).toEqual({ inputTokens: 0, cachedInputTokens: 0, outputTokens: 2 });
  expect(saneConsumption(used(10, 0, 50))).toEqual({ inputTokens: 10, cachedInputTokens: 10, outputTokens: 0 });
  expect(figuresOf(used(1, 2), { reasoningTokens: Number.NaN })).toMatchObject({ reasoningTokens: 0 });
});

describe('events of a lease that was taken for dead', () => {
  const abandoned = abandonedEvent(draft('a', 100, { settledAtMs: 5 }), 40, 1_000.9);

  test('its draft, the output it told, and a line for that', () => {
    const lines = [line('input', 100), line('output', 40)];
    expect(abandoned).toEqual({ ...draft('a', 100), outputTokens: 40, outcome: 'abandoned', estimated: true, lines, settledAtMs: 1_000 });
    expect(abandonedEvent(draft('a', 100), 0, 0).lines).toEqual([line('input', 100)]);
  });

  test('a correction holds the differences, of figures and of lines', () => {
    const lines = [line('input', 60), line('cached_input', 30), line('output', 40), line('output', 5, 'other')];
    const truth = event('a', used(90, 45, 30), { lines, reasoningTokens: 4, settledAtMs: 2_000 });
    const differences = [line('input', -40), line('cached_input', 30), line('output', 5, 'other')];
    const figures = { inputTokens: -10, cachedInputTokens: 30, outputTokens: 5, reasoningTokens: 4 };
    expect(correctionEvent(truth, abandoned)).toEqual({ ...truth, ...figures, corrects: true, lines: differences });
  });

  test('what is taken back comes to nothing with what was booked', () => {
    const back = takingBackEvent(abandoned, 3_000);
    expect(back).toMatchObject({ corrects: true, inputTokens: -100, outputTokens: -40, settledAtMs: 3_000 });
    expect(back.lines).toEqual([line('input', -100), line('output', -40)]);
  });
});

test('periods are of UTC, and what is no time still has one', () => {
  expect(periodsOf(Date.UTC(2026, 10, 29, 23, 59, 59, 999))).toEqual(['2026-11-29', '2026-11']);
  expect(periodsOf(Date.UTC(2026, 10, 30))).toEqual(['2026-11-30', '2026-11']);
  for (const odd of [Number.NaN, -5, -Infinity]) expect(periodsOf(odd)).toEqual(['1970-01-01', '1970-01']);
  expect(periodsOf(Infinity)).toEqual(['9999-12-31', '9999-12']);
});

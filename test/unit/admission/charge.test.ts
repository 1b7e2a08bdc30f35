import { describe, expect, it } from 'vitest';
import { chargeFor, type Ending } from '../../../src/admission/charge.js';
import type { Estimator } from '../../../src/domain/estimate.js';
import { NO_USAGE } from '../../../src/domain/usage.js';
import type { ResponseReading } from '../../../src/domain/wire.js';
import { createEstimator } from '../../../src/estimate/estimator.js';
import { noText } from '../../../src/lib/text-features.js';

const estimator: Estimator = { ...createEstimator(), countOutput: () => 7 };
const expected = {
  model: 'm',
  prompt: { tokens: 100, lowerBoundTokens: 40, errorShare: 0.2, cachedShare: 0, regressors: Float64Array.of(100) },
  expectedOutputTokens: 30,
  background: false,
};
const reading = (more: Partial<ResponseReading> = {}): ResponseReading => ({
  usage: null, lines: null, responseId: null, model: null, serviceTier: null, output: noText(), outputPieces: 0, sawOutput: false, sawError: false, complete: true,
  unreadable: false, ...more,
});
const ending = (more: Partial<Ending> = {}): Ending => ({
  status: 200, fromUpstream: true, whole: true, ended: false, unseen: false, streamed: false, usage: more.reading?.usage ?? null, reading: reading(), unreadable: false, ...more,
});
const charge = (end: Ending, background = false) => chargeFor(end, { ...expected, background }, estimator);
const told = (inputTokens: number, outputTokens: number) => ({ ...NO_USAGE, inputTokens, outputTokens });

describe('what is charged in the end', () => {
  it('an answer made in the background: prompt and usual output, by our estimate, whoever leaves', () => {
    for (const end of [ending(), ending({ whole: false }), ending({ status: null, whole: false, reading: null })]) {
      expect(charge(end, true)).toMatchObject({ usage: { inputTokens: 100, outputTokens: 30 }, estimated: true, teaches: false });
    }
  });

  it('one in the background that tells its usage, or fails, is like any other', () => {
    expect(charge(ending({ reading: reading({ usage: told(90, 20), sawOutput: true }) }), true)).toMatchObject({ usage: { inputTokens: 90, outputTokens: 20 }, estimated: false });
    expect(charge(ending({ status: 429 }), true)).toMatchObject({ usage: NO_USAGE, outcome: 'upstream_failed' });
  });

  it('input that was not told (Ollama, where the prompt was cached) leaves the estimate in force, and teaches nothing', () => {
    const end = ending({ reading: reading({ usage: told(0, 12), sawOutput: true }) });
    expect(charge(end)).toMatchObject({ usage: { inputTokens: 100, outputTokens: 12 }, estimated: true, teaches: false });
  });

  it('APIs without output (embeddings, rerank) are charged their input', () => {
    const end = ending({ reading: reading({ usage: told(90, 0) }) });
    expect(charge(end)).toMatchObject({ usage: { inputTokens: 90, outputTokens: 0 }, estimated: false, teaches: true });
  });

  it('a stream that is cut before usage is counted; one body that is cut was made whole', () => {
    const cut = reading({ complete: false });
    expect(charge(ending({ whole: false, streamed: true, reading: { ...cut, sawOutput: true } })).usage).toMatchObject({ inputTokens: 100, outputTokens: 7 });
    expect(charge(ending({ whole: false, streamed: true, unreadable: true, reading: cut })).usage).toMatchObject({ outputTokens: 0 });
    expect(charge(ending({ whole: false, streamed: false, unreadable: true, reading: cut })).usage).toMatchObject({ outputTokens: 30 });
  });
});

import { createEstimator } from '../../../src/estimate/estimator.js';
import type { RequestFacts } from '../../../src/domain/request.js';
import { TextCounter } from '../../../src/lib/text-features.js';
import { NO_USAGE } from '../../../src/domain/usage.js';
import { parseChatRequest } from '../../../src/wire/openai/request.js';
import type { Figure } from './figure.js';

const PROSE = 'The committee met in the afternoon and decided, after some discussion, to publish the report {"id": 12345, "userName": "ann"}.\n'.repeat(8000);
const MIXED = 'Комитет собрался во второй половине дня. 日本語の文章です。 The report was published. '.repeat(8000);

/** The best of several runs: what else the machine does only adds. */
function best(times: number, run: () => void): number {
  let least = Infinity;
  for (let i = 0; i < times; i++) {
    const start = performance.now();
    run();
    least = Math.min(least, performance.now() - start);
  }
  return least;
}

function megabytesASecond(text: string): number {
  const milliseconds = best(15, () => {
    new TextCounter().add(text);
  });
  return Buffer.byteLength(text) / 1000 / milliseconds;
}

function facts(text: string): RequestFacts {
  const parsed = parseChatRequest(Buffer.from(JSON.stringify({ model: 'house-model', messages: [{ role: 'user', content: text }] })));
  if (!parsed.ok) throw new Error(parsed.fault.message);
  return parsed.facts;
}

function learningMs(): number {
  const estimator = createEstimator();
  const observations = [PROSE.slice(0, 4000), MIXED.slice(0, 4000)].map((text) => {
    const request = facts(text);
    return { tenantId: 't', facts: request, prompt: estimator.prompt('t', request), usage: { ...NO_USAGE, inputTokens: 1500, outputTokens: 100 }, responseId: 'r' };
  });
  return best(20, () => {
    for (let i = 0; i < 200; i++) estimator.learn(observations[i % 2]!);
  }) / 200;
}

function promptMs(): number {
  const estimator = createEstimator();
  const request = facts(MIXED.slice(0, 4000));
  return best(20, () => {
    for (let i = 0; i < 1000; i++) estimator.prompt('t', request);
  }) / 1000;
}

export const figures: readonly Figure[] = [
  { name: 'features of ASCII text', unit: 'MB/s', target: 250, run: () => megabytesASecond(PROSE) },
  { name: 'features of mixed scripts', unit: 'MB/s', target: 200, run: () => megabytesASecond(MIXED) },
  { name: 'learning from one answer', unit: 'ms', target: 0.1, run: learningMs },
  { name: 'estimating a prompt that was counted', unit: 'ms', target: 0.02, run: promptMs },
];

import { createHash } from 'node:crypto';
import type { Estimator } from '../../src/domain/estimate.js';
import type { PromptContent, RequestFacts } from '../../src/domain/request.js';
import { NO_USAGE } from '../../src/domain/usage.js';
import { noText } from '../../src/lib/text-features.js';

/** Tokens that the simulated model's template puts around a message, and once around a prompt. */
const AROUND = 7;

/** Counts of a text that no weights were fitted on, and how many tokens each tokenizer takes it for. No text. */
export interface HeldOut {
  /** What it is and in which language. */
  readonly kind: string;
  /** Which half of its document it is from. */
  readonly part: 0 | 1;
  /** Half of the documents, whole ones: of many languages there is only one. */
  readonly half: 0 | 1;
  readonly counts: readonly number[];
  readonly tokens: Readonly<Record<string, number>>;
}

/** What traffic consists of: everything, or what most tenants send. */
export const MIXES: readonly (readonly [string, (kind: string) => boolean])[] = [
  ['everything', () => true],
  ['English, code, JSON', (kind) => / en$|^code|^json json|^made|^minified/.test(kind)],
  ['22 languages', (kind) => /^(markdown|prose)/.test(kind)],
];

/** A request and the tokens that its model takes it for. */
export interface Truth {
  readonly facts: RequestFacts;
  readonly tokens: number;
}

/** Requests of one message each, in an order that says nothing. */
export function trafficOf(texts: readonly HeldOut[], model: string, tokenizer: string): Truth[] {
  const order = (text: HeldOut): string => createHash('sha256').update(JSON.stringify(text)).digest('hex');
  const sorted = [...texts].sort((a, b) => (order(a) < order(b) ? -1 : 1));
  return sorted.map(({ counts, tokens }) => ({ facts: chat(model, Float64Array.from(counts)), tokens: tokens[tokenizer]! + AROUND }));
}

function chat(model: string, text: Float64Array): RequestFacts {
  const prompt: PromptContent = { system: noText(), text, toolText: noText(), schema: noText(), messages: 1, tools: 0, tokenIds: 0, media: [], references: [] };
  return { api: 'openai-chat', model, stream: false, usageRequested: false, outputCapTokens: null, choices: 1, prompt, session: null, work: null, background: false };
}

/** Relative errors, each estimate made before anything is learned from it. */
export function run(estimator: Estimator, traffic: readonly Truth[], learn: boolean): number[] {
  return traffic.map(({ facts, tokens }) => {
    const prompt = estimator.prompt('tenant', facts);
    if (learn) estimator.learn({ tenantId: 'tenant', facts, prompt, usage: { ...NO_USAGE, inputTokens: tokens, outputTokens: 10 }, responseId: null });
    return Math.abs(prompt.tokens / tokens - 1);
  });
}

/**
 * Errors on one half of the texts after 200 requests with the other half, and the other way round. `by`: halves of each document, so
 * that its language may have been seen, or whole documents.
 */
export function afterLearning(fresh: () => Estimator, texts: readonly HeldOut[], tokenizer: string, by: 'part' | 'half'): number[] {
  return ([0, 1] as const).flatMap((side) => {
    const estimator = fresh();
    run(estimator, trafficOf(texts.filter((one) => one[by] === side), 'house-model', tokenizer).slice(0, 200), true);
    return run(estimator, trafficOf(texts.filter((one) => one[by] !== side), 'house-model', tokenizer), false);
  });
}

import { createHash } from 'node:crypto';
import type { Estimator } from '../../src/domain/estimate.js';
import type { RequestFacts } from '../../src/domain/request.js';
import { NO_USAGE } from '../../src/domain/usage.js';
import { parseChatRequest } from '../../src/wire/openai/request.js';
import { load, sources, windows, type Sources, type Text } from './texts.js';
import { Tokenizers } from './tokenizers.js';

/** Tokens that the simulated model's template puts around a message, and once around a prompt. */
const AROUND_MESSAGE = 5;
const AROUND_PROMPT = 2;

/** A request and the tokens that its model takes it for. */
export interface Truth {
  readonly facts: RequestFacts;
  readonly tokens: number;
  readonly kind: string;
  /** Which half of its document the text is from. */
  readonly part: 0 | 1;
  /** Half of the documents, whole ones: of many languages there is only one. */
  readonly half: 0 | 1;
}

function chat(model: string, text: string): RequestFacts {
  const parsed = parseChatRequest(Buffer.from(JSON.stringify({ model, messages: [{ role: 'user', content: text }] })));
  if (!parsed.ok) throw new Error(parsed.fault.message);
  return parsed.facts;
}

/** Requests with texts that the weights were not fitted on, in an order that is always the same. */
export async function heldOutTraffic(model: string, tokenizer: string, kept: (text: Text) => boolean, clones: string | null): Promise<Truth[]> {
  const known: Sources = sources();
  const tokenizers = new Tokenizers(known);
  const traffic: { order: string; truth: Truth }[] = [];
  for (const text of known.texts.filter((one) => one.use === 'test' && kept(one))) {
    const content = await load(text, known, clones);
    const half = (parseInt(createHash('sha256').update(`${text.from} ${text.path}`).digest('hex').slice(0, 2), 16) & 1) as 0 | 1;
    const middle = Math.floor(content.length / 2);
    const pieces = [content.slice(0, middle), content.slice(middle)].flatMap((side, part) => [...windows(side, 4000, 3), ...windows(side, 900, 3)].map((piece) => [piece, part as 0 | 1] as const));
    for (const [piece, part] of pieces) {
      const tokens = (await tokenizers.count(tokenizer, piece)) + AROUND_MESSAGE + AROUND_PROMPT;
      traffic.push({ order: createHash('sha256').update(piece).digest('hex'), truth: { facts: chat(model, piece), tokens, kind: `${text.kind} ${text.language}`, part, half } });
    }
  }
  tokenizers.save();
  return traffic.sort((a, b) => (a.order < b.order ? -1 : 1)).map(({ truth }) => truth);
}

/** Relative errors, each estimate made before anything is learned from it. */
export function run(estimator: Estimator, traffic: readonly Truth[], learn: boolean): number[] {
  return traffic.map(({ facts, tokens }) => {
    const prompt = estimator.prompt('tenant', facts);
    if (learn) estimator.learn({ tenantId: 'tenant', facts, prompt, usage: { ...NO_USAGE, inputTokens: tokens, outputTokens: 10 }, responseId: null });
    return Math.abs(prompt.tokens / tokens - 1);
  });
}

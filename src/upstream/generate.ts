import type { Engine } from './engine.js';
import type { Exchange } from './exchange.js';
import type { RecordedRequest, UsageTotals } from './record.js';
import type { GenerationRequest } from './request.js';
import type { Tweaks } from './script.js';
import { sse } from './script.js';
import type { Counts } from './shape.js';
import { errorJson, Shape, usageJson } from './shape.js';
import { tokenText } from './tokens.js';

/** One request on the engine. */
export interface Generation {
  readonly request: GenerationRequest;
  readonly tweaks: Tweaks;
  readonly record: RecordedRequest;
  readonly exchange: Exchange;
  readonly engine: Engine;
  readonly totals: UsageTotals;
  /** Tokens of one choice. */
  readonly outputTokens: number;
  readonly finish: 'stop' | 'length';
}

/** Waits for a slot, reads the prompt, produces tokens and sends them as they come; stops when the client leaves. */
export async function generate(job: Generation): Promise<void> {
  if (!(await job.engine.takeSlot(job.exchange.gone))) return;
  try {
    job.totals.requests++;
    job.record.promptTokens = job.request.promptTokens;
    job.totals.promptTokens += job.request.promptTokens;
    await job.engine.prefill(job.request.promptTokens, job.exchange.gone);
    const shape = new Shape(job.request, job.record.index, Math.floor(job.engine.nowMs() / 1_000));
    if (job.request.stream) await stream(job, shape);
    else await answerWhole(job, shape);
  } finally {
    job.engine.releaseSlot();
  }
}

interface Token {
  readonly choice: number;
  readonly text: string;
  readonly reasoning: boolean;
}

/** Tokens of all choices side by side, each step as long as the engine is busy. Ends early when the client has left. */
async function* produce(job: Generation): AsyncGenerator<Token> {
  const { engine, exchange, request, tweaks } = job;
  const reasoningTokens = tweaks.reasoningTokens ?? 0;
  let dueMs = engine.nowMs();
  for (let index = 0; index < job.outputTokens; index++) {
    // The first token comes with the prompt's last step.
    if (index > 0) dueMs += engine.tokenMs();
    await engine.sleepUntil(dueMs, exchange.gone);
    if (index % 64 === 63) await new Promise(setImmediate);
    for (let choice = 0; choice < request.choices; choice++) {
      if (exchange.gone.aborted) return;
      job.record.completionTokens++;
      job.totals.completionTokens++;
      yield { choice, text: tokenText(request.seed + choice, index), reasoning: index < reasoningTokens };
    }
  }
}

async function stream(job: Generation, shape: Shape): Promise<void> {
  const { exchange, request, tweaks } = job;
  exchange.begin(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache', ...tweaks.headers }, tweaks.encoding);
  const running = (): Record<string, unknown> | null | undefined => runningUsage(job);
  for (let choice = 0; choice < request.choices; choice++) {
    const opening = shape.opening(choice, running());
    if (opening !== null) await exchange.write(sse(opening));
  }
  for await (const token of produce(job)) {
    await exchange.write(sse(shape.part(token, running())));
    if (job.record.completionTokens === tweaks.breakAfterTokens) return breakOff(job);
  }
  if (exchange.gone.aborted) return;
  for (let choice = 0; choice < request.choices; choice++) {
    const last = choice === request.choices - 1;
    const usage = tweaks.usage === 'finish_chunk' && last ? usageJson(counts(job)) : running();
    await exchange.write(sse(shape.finish(choice, job.finish, usage)));
  }
  if (tellsUsageLast(job)) await exchange.write(sse(shape.usageChunk(usageJson(counts(job)))));
  await exchange.write(sse('[DONE]'));
  exchange.end();
}

async function answerWhole(job: Generation, shape: Shape): Promise<void> {
  const { exchange, request, tweaks, finish } = job;
  const texts = Array.from({ length: request.choices }, () => ({ text: '', reasoning: '', finish }));
  for await (const token of produce(job)) texts[token.choice]![token.reasoning ? 'reasoning' : 'text'] += token.text;
  if (exchange.gone.aborted) return;
  const body = shape.whole(texts, usageJson(counts(job)));
  if (tweaks.usage === 'none') delete body['usage'];
  if (tweaks.encoding === undefined) {
    exchange.json(200, body, tweaks.headers);
    return;
  }
  exchange.begin(200, { 'content-type': 'application/json', ...tweaks.headers }, tweaks.encoding);
  await exchange.write(JSON.stringify(body));
  exchange.end();
}

async function breakOff(job: Generation): Promise<void> {
  if (job.tweaks.breakWith === 'reset') {
    job.exchange.cut('reset');
    return;
  }
  await job.exchange.write(sse(errorJson({ status: 500, message: 'the engine failed', param: null })));
  job.exchange.end();
}

/** Usage in chunks that are not the last: undefined where it is not told at all, null where it comes later. */
function runningUsage(job: Generation): Record<string, unknown> | null | undefined {
  if (job.tweaks.usage === 'continuous') return usageJson(counts(job));
  return tellsUsageLast(job) ? null : undefined;
}

function tellsUsageLast(job: Generation): boolean {
  const how = job.tweaks.usage ?? 'as_asked';
  return how === 'continuous' || (how === 'as_asked' && job.request.includeUsage);
}

function counts({ record, request, tweaks }: Generation): Counts {
  return {
    promptTokens: request.promptTokens,
    cachedTokens: tweaks.cachedTokens ?? 0,
    completionTokens: record.completionTokens,
    reasoningTokens: Math.min((tweaks.reasoningTokens ?? 0) * request.choices, record.completionTokens),
  };
}

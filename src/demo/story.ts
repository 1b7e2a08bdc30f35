import type { LedgerEvent } from '../domain/lease.js';
import type { TenantName } from './cast.js';
import { chat, type ChatAnswer, type ChatRequest } from './client.js';
import type { Interruption } from './ending.js';
import type { Stage } from './stage.js';
import type { TokenCount } from './upstream.js';

/** One request of the story, with what everybody knows of it. */
export interface Step {
  readonly tenant: TenantName;
  readonly what: string;
  readonly answer: ChatAnswer;
  /** What the ledger has; null where nothing was charged. */
  readonly event: LedgerEvent | null;
  /** What the model server itself counted meanwhile. */
  readonly upstream: TokenCount;
}

/** All that happened. */
export interface Told {
  readonly steps: readonly Step[];
  /** How long birch waited before it came again, as it was told. */
  readonly waitedMs: number;
  /** What cedar's bucket of tokens had left. */
  readonly cedar: { readonly whileStreaming: number; readonly afterLeaving: number };
  /** Charged in sum, by tenant, as `/status` tells it. */
  readonly charged: Readonly<Record<TenantName, TokenCount>>;
  /** Reservations that were open at the end. */
  readonly leases: number;
}

/** Told each step as soon as it is over. */
export type OnStep = (step: Step) => void;

const QUESTION = 'Write a long story about a lighthouse keeper who counts the waves, and never stop before the tenth chapter.';
const LEAVES_AFTER = 20;

/** Plays the guided load: three tenants, one request after the other, so that every count belongs to one request. */
export async function playStory(stage: Stage, interruption: Interruption, onStep: OnStep): Promise<Told> {
  const steps: Step[] = [];
  const send: Send = async (tenant, what, request) => {
    const step = await interruption.orEnd(takeStep(stage, tenant, what, request, interruption.signal));
    steps.push(step);
    onStep(step);
    return step;
  };
  await withinLimits(send);
  const waitedMs = await aboveLimit(send, stage.upstream.longPrompt, interruption);
  const cedar = await leavesInMidStream(send, stage);
  const { tenants, leases } = await stage.books.status();
  const charged = (name: TenantName): TokenCount => ({ input: tenants[name]!.usage.inputTokens, output: tenants[name]!.usage.outputTokens });
  return { steps, waitedMs, cedar, charged: { alder: charged('alder'), birch: charged('birch'), cedar: charged('cedar') }, leases };
}

type Send = (tenant: TenantName, what: string, request: Omit<ChatRequest, 'model'>) => Promise<Step>;

async function takeStep(stage: Stage, tenant: TenantName, what: string, request: Omit<ChatRequest, 'model'>, signal: AbortSignal): Promise<Step> {
  const { url, keys, books, upstream } = stage;
  const before = await upstream.counted();
  const answer = await chat(url, keys[tenant], { model: upstream.model, ...request }, signal);
  const event = answer.status === 200 && answer.requestId !== null ? await books.settled(answer.requestId) : null;
  const after = await upstream.counted();
  return { tenant, what, answer, event, upstream: { input: after.input - before.input, output: after.output - before.output } };
}

async function withinLimits(send: Send): Promise<void> {
  await send('alder', 'a chat, answered as a whole', { prompt: QUESTION, maxTokens: 80, stream: false });
  await send('alder', 'streamed, usage not asked for', { prompt: QUESTION, maxTokens: 80, stream: true });
  await send('alder', 'streamed, usage asked for', { prompt: QUESTION, maxTokens: 80, stream: true, asksForUsage: true });
}

/** @returns how long was waited, in milliseconds: as long as the refusal told. */
async function aboveLimit(send: Send, prompt: string, { signal, orEnd }: Interruption): Promise<number> {
  const request = { prompt, maxTokens: 16, stream: false };
  await send('birch', 'a long prompt', request);
  const { answer } = await send('birch', 'the same again, at once', request);
  const waitMs = answer.retryAfterMs ?? 0;
  await orEnd(new Promise<void>((resume) => {
    const timer = setTimeout(resume, waitMs);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
    });
  }));
  await send('birch', 'the same, after the wait it was told', request);
  return waitMs;
}

async function leavesInMidStream(send: Send, { books }: Stage): Promise<Told['cedar']> {
  const left = async (): Promise<number> => (await books.status()).tenants['cedar']?.tokens?.remaining ?? 0;
  // From this answer the estimate learns how many tokens the prompt really has.
  await send('cedar', 'streamed, read to its end', { prompt: QUESTION, maxTokens: 40, stream: true });
  let whileStreaming = 0;
  await send('cedar', `streamed, leaves after ${LEAVES_AFTER} pieces`, {
    ...{ prompt: QUESTION, maxTokens: 300, stream: true, leavesAfter: LEAVES_AFTER },
    beforeLeaving: async () => {
      whileStreaming = await left();
    },
  });
  return { whileStreaming, afterLeaving: await left() };
}

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
/** About what the question is taken for; more or less only changes how long birch has to wait. */
const QUESTION_TOKENS = 30;
/** At 10 tokens a second a wait of about three seconds. */
const ASKS_TOO_MUCH = 25;
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
  const waitedMs = await aboveLimit(send, stage, interruption);
  const cedar = await leavesInMidStream(send, stage);
  const { tenants, leases } = await stage.books.status();
  const charged = (name: TenantName): TokenCount => ({ input: tenants[name]!.usage.inputTokens, output: tenants[name]!.usage.outputTokens });
  return { steps, waitedMs, cedar, charged: { alder: charged('alder'), birch: charged('birch'), cedar: charged('cedar') }, leases };
}

/** A request without what the upstream decides. */
type Sent = Omit<ChatRequest, 'model' | 'extraBody'>;

type Send = (tenant: TenantName, what: string, request: Sent) => Promise<Step>;

async function takeStep(stage: Stage, tenant: TenantName, what: string, request: Sent, signal: AbortSignal): Promise<Step> {
  const { url, keys, books, upstream } = stage;
  const before = await upstream.counted();
  const answer = await chat(url, keys[tenant], { model: upstream.model, extraBody: upstream.extraBody, ...request }, signal);
  const event = answer.status === 200 && answer.requestId !== null ? await books.settled(answer.requestId) : null;
  const after = await upstream.counted();
  return { tenant, what, answer, event, upstream: { input: after.input - before.input, output: after.output - before.output } };
}

async function withinLimits(send: Send): Promise<void> {
  await send('alder', 'a chat, answered as a whole', { prompt: QUESTION, maxTokens: 50, stream: false });
  await send('alder', 'streamed, usage not asked for', { prompt: QUESTION, maxTokens: 50, stream: true });
  await send('alder', 'streamed, usage asked for', { prompt: QUESTION, maxTokens: 50, stream: true, asksForUsage: true });
}

/** @returns how long was waited, in milliseconds: as long as the refusal told. */
async function aboveLimit(send: Send, stage: Stage, { signal, orEnd }: Interruption): Promise<number> {
  await send('birch', 'a long prompt', { prompt: stage.upstream.longPrompt, maxTokens: 16, stream: false });
  const left = await tokensLeft(stage, 'birch');
  const request = { prompt: QUESTION, maxTokens: Math.max(1, left + ASKS_TOO_MUCH - QUESTION_TOKENS), stream: false };
  const { answer } = await send('birch', `has ${left} left, asks for more`, request);
  const waitMs = answer.retryAfterMs ?? 0;
  await orEnd(pause(waitMs, signal));
  await send('birch', 'the same, after the wait it was told', request);
  return waitMs;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resume) => {
    const timer = setTimeout(resume, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
    });
  });
}

/** What a tenant's bucket of tokens has left now. */
async function tokensLeft({ books }: Stage, tenant: TenantName): Promise<number> {
  return (await books.status()).tenants[tenant]?.tokens?.remaining ?? 0;
}

async function leavesInMidStream(send: Send, stage: Stage): Promise<Told['cedar']> {
  // From this answer the estimate learns how many tokens the prompt really has.
  await send('cedar', 'streamed, read to its end', { prompt: QUESTION, maxTokens: 40, stream: true });
  let whileStreaming = 0;
  await send('cedar', `streamed, leaves after ${LEAVES_AFTER} pieces`, {
    ...{ prompt: QUESTION, maxTokens: 300, stream: true, leavesAfter: LEAVES_AFTER },
    beforeLeaving: async () => {
      whileStreaming = await tokensLeft(stage, 'cedar');
    },
  });
  return { whileStreaming, afterLeaving: await tokensLeft(stage, 'cedar') };
}

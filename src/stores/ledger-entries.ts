import type { Consumption, LedgerEvent, TenantTotals } from '../domain/lease.js';
import type { UsageLine } from '../domain/usage.js';
import { wholeTokens } from '../quota/bucket.js';

/** What a lease adds to totals beside the request itself. */
export type Figures = Omit<TenantTotals, 'requests'>;

/** Last millisecond of the year 9999, so that a period is always written in four digits, two, two. */
const LAST_MS = 253_402_300_799_999;

/** Figures as they may be charged: whole, not negative, and no more cached than there was input. */
export function saneConsumption(consumed: Consumption): Consumption {
  const inputTokens = wholeTokens(consumed.inputTokens);
  return {
    inputTokens,
    cachedInputTokens: Math.min(inputTokens, wholeTokens(consumed.cachedInputTokens)),
    outputTokens: wholeTokens(consumed.outputTokens),
  };
}

/** What a settlement adds to totals; `consumed` is where the tokens are taken from. */
export function figuresOf(consumed: Consumption, { reasoningTokens }: Pick<LedgerEvent, 'reasoningTokens'>): Figures {
  const { inputTokens, cachedInputTokens, outputTokens } = saneConsumption(consumed);
  return { inputTokens, cachedInputTokens, outputTokens, reasoningTokens: wholeTokens(reasoningTokens) };
}

/** What is booked of a lease whose processor is taken for dead: its draft, with the output that was told last. */
export function abandonedEvent(draft: LedgerEvent, outputTokens: number, nowMs: number): LedgerEvent {
  const figures = figuresOf({ ...draft, outputTokens }, draft);
  const output: UsageLine = { model: draft.model, serviceTier: null, kind: 'output', tokens: figures.outputTokens };
  const lines = figures.outputTokens > 0 ? [...draft.lines, output] : draft.lines;
  return { ...draft, ...figures, outcome: 'abandoned', estimated: true, lines, settledAtMs: Math.floor(nowMs) };
}

/** The event that puts `booked` right: `truth`, with the differences of its figures and of its lines. The sum of both is the truth. */
export function correctionEvent(truth: LedgerEvent, booked: LedgerEvent): LedgerEvent {
  return { ...truth, ...figuresBetween(truth, booked), corrects: true, lines: linesBetween(truth.lines, booked.lines) };
}

/** The event that takes back all that was booked, since nothing was consumed after all. */
export function takingBackEvent(booked: LedgerEvent, nowMs: number): LedgerEvent {
  return correctionEvent({ ...booked, ...NO_FIGURES, lines: [], settledAtMs: Math.floor(nowMs) }, booked);
}

export const NO_FIGURES: Figures = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 };

export function figuresBetween(truth: Figures, booked: Figures): Figures {
  return {
    inputTokens: truth.inputTokens - booked.inputTokens,
    cachedInputTokens: truth.cachedInputTokens - booked.cachedInputTokens,
    outputTokens: truth.outputTokens - booked.outputTokens,
    reasoningTokens: truth.reasoningTokens - booked.reasoningTokens,
  };
}

const DAY_MS = 86_400_000;
/** The periods that were asked for last: nearly always those of today. */
let latest: { readonly day: number; readonly periods: readonly [day: string, month: string] } | null = null;

/** The day and the month of UTC that a time belongs to: `2026-11-29` and `2026-11`. What is no time is taken as the first. */
export function periodsOf(ms: number): readonly [day: string, month: string] {
  const day = Math.floor((ms > 0 ? Math.min(ms, LAST_MS) : 0) / DAY_MS);
  if (latest?.day === day) return latest.periods;
  const text = new Date(day * DAY_MS).toISOString().slice(0, 10);
  latest = { day, periods: [text, text.slice(0, 7)] };
  return latest.periods;
}

/** Lines of one kind, model and tier become one; those that come to nothing are left out. */
function linesBetween(truth: readonly UsageLine[], booked: readonly UsageLine[]): readonly UsageLine[] {
  const sums = new Map<string, UsageLine>();
  const add = (line: UsageLine, sign: 1 | -1): void => {
    const name = JSON.stringify([line.model, line.serviceTier, line.kind]);
    sums.set(name, { ...line, tokens: (sums.get(name)?.tokens ?? 0) + sign * line.tokens });
  };
  for (const line of truth) add(line, 1);
  for (const line of booked) add(line, -1);
  return [...sums.values()].filter(({ tokens }) => tokens !== 0);
}

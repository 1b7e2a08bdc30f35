import type { Consumption, LedgerEvent } from '../../domain/lease.js';
import { correctionEvent, figuresBetween, figuresOf, NO_FIGURES, periodsOf, takingBackEvent, type Figures } from '../ledger-entries.js';
import { packDoubles } from './buckets.js';
import type { Argument } from './scripts.js';

/** Nothing to book, as `cancel` takes it. */
const NO_ENTRY: readonly Argument[] = ['', '', '', '', ''];

/**
 * What a lease comes to at its end, less what others booked of it (JSON; '' for nothing), as scripts take it: event, day, month, parent, and
 * eight doubles: what it comes to, and what is to be booked.
 */
export function settlementEntry(event: LedgerEvent, consumed: Consumption, booked: string): readonly Argument[] {
  const truth = figuresOf(consumed, event);
  const charged = [truth.inputTokens, truth.cachedInputTokens, truth.outputTokens];
  if (booked === '') return entry(event, charged, 1, truth);
  const before = parseEvent(booked);
  return entry(correctionEvent({ ...event, ...truth }, before), charged, 0, figuresBetween(truth, before));
}

/** What takes back all that was booked. */
export function cancellationEntry(booked: string, nowMs: number): readonly Argument[] {
  if (booked === '') return NO_ENTRY;
  const before = parseEvent(booked);
  return entry(takingBackEvent(before, nowMs), [], 0, figuresBetween(NO_FIGURES, before));
}

/** Events go into the store as JSON, and only this program writes them there. */
export function parseEvent(json: string): LedgerEvent {
  return JSON.parse(json) as LedgerEvent;
}

function entry(event: LedgerEvent, charged: readonly number[], requests: number, figures: Figures): readonly Argument[] {
  const { inputTokens, cachedInputTokens, outputTokens, reasoningTokens } = figures;
  const numbers = [...charged, requests, inputTokens, cachedInputTokens, outputTokens, reasoningTokens];
  return [JSON.stringify(event), ...periodsOf(event.settledAtMs), event.parentId ?? '', packDoubles(numbers)];
}

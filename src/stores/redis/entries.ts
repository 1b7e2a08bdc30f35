import type { Consumption, LedgerEvent } from '../../domain/lease.js';
import { correctionEvent, figuresBetween, figuresOf, NO_FIGURES, periodsOf, takingBackEvent, type Figures } from '../ledger-entries.js';
import type { Argument } from './scripts.js';

/** Entries of the ledger as scripts take them: event, requests, four figures, day, month, parent. */
const NO_ENTRY: readonly Argument[] = ['', '', '', '', '', '', '', '', ''];

/** What a lease comes to at its end, less what others booked of it (JSON; '' for nothing). */
export function settlementEntry(event: LedgerEvent, consumed: Consumption, booked: string): readonly Argument[] {
  const truth = figuresOf(consumed, event);
  if (booked === '') return entry(event, 1, truth);
  const before = parseEvent(booked);
  return entry(correctionEvent({ ...event, ...truth }, before), 0, figuresBetween(truth, before));
}

/** What takes back all that was booked. */
export function cancellationEntry(booked: string, nowMs: number): readonly Argument[] {
  if (booked === '') return NO_ENTRY;
  const before = parseEvent(booked);
  return entry(takingBackEvent(before, nowMs), 0, figuresBetween(NO_FIGURES, before));
}

/** Events go into the store as JSON, and only this program writes them there. */
export function parseEvent(json: string): LedgerEvent {
  return JSON.parse(json) as LedgerEvent;
}

function entry(event: LedgerEvent, requests: number, figures: Figures): readonly Argument[] {
  const { inputTokens, cachedInputTokens, outputTokens, reasoningTokens } = figures;
  return [
    JSON.stringify(event),
    ...[requests, inputTokens, cachedInputTokens, outputTokens, reasoningTokens],
    ...periodsOf(event.settledAtMs),
    event.parentId ?? '',
  ];
}

import type { JournalEntry } from './journal.js';

/** One line of a journal's file. */
export type JournalLine = { readonly entry: JournalEntry } | { readonly done: string };

/** What is in a journal's text. */
export interface JournalText {
  /** Those that are not done, oldest first. */
  readonly entries: readonly JournalEntry[];
  /** Whole lines that this version can't read: damaged, or of another version. */
  readonly unreadable: readonly string[];
}

/**
 * Reads a journal's text. A last line without an end is passed over (a crash cut it). Entries of another life may have been booked with
 * nobody left to note it: they count as tried when they were settled. What their outage charged is not known any more: they are booked, and
 * charge no bucket.
 */
export function readJournal(text: string, nowMs: number): JournalText {
  const open = new Map<string, JournalEntry>();
  const unreadable: string[] = [];
  for (const line of text.split('\n').slice(0, -1)) {
    const read = parse(line);
    if (read === null) unreadable.push(line);
    else if ('done' in read) open.delete(read.done);
    else open.set(read.entry.leaseId, revived(read.entry, nowMs));
  }
  return { entries: [...open.values()], unreadable };
}

function revived(entry: JournalEntry, nowMs: number): JournalEntry {
  if (entry.kind === 'cancel') return entry;
  return { ...entry, charged: [], inShare: false, triedMs: Math.min(nowMs, entry.event.settledAtMs) };
}

function parse(line: string): JournalLine | null {
  try {
    const read = JSON.parse(line) as Fields | null;
    if (typeof read?.done === 'string') return { done: read.done };
    return isEntry(read?.entry) ? { entry: read.entry } : null;
  } catch {
    return null;
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** All that booking reads is looked at: one entry that makes no sense must not keep the others from being booked. */
function isEntry(entry: unknown): entry is JournalEntry {
  if (!isObject(entry) || !areStrings(entry, ['leaseId'])) return false;
  if (entry.kind === 'cancel') return true;
  return (
    entry.kind === 'settle' &&
    areStrings(entry, ['tenantId', 'rootId', 'owner']) &&
    AT_STORE.includes(entry.atStore) &&
    isConsumption(entry.consumed) &&
    isEvent(entry.event) &&
    Array.isArray(entry.held) &&
    entry.held.every(isCharge)
  );
}

const AT_STORE: readonly unknown[] = ['yes', 'maybe', 'no'];
const DIMENSIONS: readonly unknown[] = ['requests', 'tokens', 'inputTokens', 'outputTokens', 'concurrency'];

function isConsumption(consumed: unknown): boolean {
  return isObject(consumed) && areNumbers(consumed, ['inputTokens', 'cachedInputTokens', 'outputTokens']);
}

function isEvent(event: unknown): boolean {
  return (
    isObject(event) &&
    areStrings(event, ['leaseId', 'requestId', 'tenantId', 'api', 'model', 'outcome']) &&
    (event.parentId === null || typeof event.parentId === 'string') &&
    areNumbers(event, ['reasoningTokens', 'startedAtMs', 'settledAtMs']) &&
    Array.isArray(event.lines) &&
    event.lines.every(isObject)
  );
}

function isCharge(charge: unknown): boolean {
  return isObject(charge) && areStrings(charge, ['key', 'tenantId']) && DIMENSIONS.includes(charge.dimension) && areNumbers(charge, ['limit', 'capacity', 'amount', 'inputAmount']);
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}

function areStrings(object: Fields, names: readonly string[]): boolean {
  return names.every((name) => typeof object[name] === 'string');
}

function areNumbers(object: Fields, names: readonly string[]): boolean {
  return names.every((name) => typeof object[name] === 'number');
}

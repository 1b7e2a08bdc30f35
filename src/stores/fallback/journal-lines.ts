import type { JournalEntry } from './journal.js';

/** One line of a journal's file. */
export type JournalLine = { readonly entry: JournalEntry } | { readonly done: string };

/**
 * The entries of a journal's text that are not done, oldest first. A line that can't be read (a crash cut it) is passed over. Entries of
 * another life may have been booked with nobody left to note it: they count as tried when they were settled. What their outage charged is
 * not known any more: they are booked, and charge no bucket.
 */
export function readJournal(text: string, nowMs: number): JournalEntry[] {
  const open = new Map<string, JournalEntry>();
  for (const line of text.split('\n')) {
    const read = parse(line);
    if (read === null) continue;
    if ('done' in read) open.delete(read.done);
    else open.set(read.entry.leaseId, revived(read.entry, nowMs));
  }
  return [...open.values()];
}

function revived(entry: JournalEntry, nowMs: number): JournalEntry {
  if (entry.kind === 'cancel') return entry;
  return { ...entry, charged: [], inShare: false, triedMs: Math.min(nowMs, entry.event.settledAtMs) };
}

function parse(line: string): JournalLine | null {
  if (line === '') return null;
  try {
    const read = JSON.parse(line) as Partial<{ entry: Partial<JournalEntry> | null; done: unknown }> | null;
    if (typeof read?.done === 'string') return { done: read.done };
    return isEntry(read?.entry) ? { entry: read.entry } : null;
  } catch {
    return null;
  }
}

/** Our own file: enough is looked at to tell a whole line of this version from anything else. */
function isEntry(entry: Partial<JournalEntry> | null | undefined): entry is JournalEntry {
  if (typeof entry?.leaseId !== 'string') return false;
  if (entry.kind === 'cancel') return true;
  return entry.kind === 'settle' && Array.isArray(entry.held) && Array.isArray(entry.charged) && typeof entry.event?.settledAtMs === 'number' && typeof entry.consumed?.inputTokens === 'number';
}

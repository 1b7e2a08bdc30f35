import type { StoredEvent } from './store.js';

/**
 * Where usage events are kept for good: a file, a log of messages (key: `rootId`), objects (named by the first and last key), a table
 * (primary key: `key`, conflicts ignored), log records.
 */
export interface LedgerSink {
  /**
   * Takes events, in order within a root. Resolves when they would outlive a crash: the store then forgets them. Rejects where that is not
   * known of all of them; all of them come again then, so that it may have some twice, with the same `eventKey`.
   */
  write(events: readonly StoredEvent[]): Promise<void>;
  close(): Promise<void>;
}

/** An event that puts another of its lease right is of another kind. */
export function eventKind({ event }: StoredEvent): 'usage' | 'correction' {
  return event.corrects ? 'correction' : 'usage';
}

/**
 * Names an event: equal for the same event delivered twice. Two that differ after the second colon only are one that was booked twice,
 * by a store that lost its memory of the first.
 */
export function eventKey(stored: StoredEvent): string {
  return `${stored.event.leaseId}:${eventKind(stored)}:${stored.id}`;
}

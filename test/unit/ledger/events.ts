import type { LedgerEvent } from '../../../src/domain/lease.js';
import type { StoredEvent } from '../../../src/domain/store.js';
import { event } from '../../conformance/store-builders.js';

/** The nth event of a store, of a lease of its own. */
export function stored(n: number, changes: Partial<LedgerEvent> = {}): StoredEvent {
  return { id: `${n}-0`, rootId: 'org', event: event(`lease-${n}`, undefined, changes) };
}

export function storedRange(from: number, to: number): StoredEvent[] {
  return Array.from({ length: to - from }, (_, i) => stored(from + i));
}

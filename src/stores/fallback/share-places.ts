import type { BucketSpec } from '../../domain/store.js';
import type { KnownLevels } from './known-levels.js';
import type { OwnLeases } from './own-leases.js';

/** What was last known of places taken by others is believed for so long into an outage: most leases have ended by then. */
const KNOWN_FOR_MS = 60_000;

export interface ShareSource {
  readonly levels: KnownLevels;
  readonly leases: OwnLeases;
}

/**
 * How many leases may hold a place of a concurrency limit in this processor's share: 1/N of the limit, less what its leases at the store
 * take; and at first no more than 1/N of the places that were free, and what its own leases gave back since. Never less than one place a processor: a limit that is smaller than the
 * number of processors would otherwise be no service at all.
 */
export function sharePlaces({ levels, leases }: ShareSource, spec: BucketSpec, processors: number, awayMs: number): number {
  const share = Math.max(1, Math.floor(spec.capacity / processors));
  const places = Math.max(0, share - leases.placesAtStore(spec.key));
  const free = levels.freePlaces(spec);
  if (free === null || awayMs >= KNOWN_FOR_MS) return places;
  if (spec.capacity < processors) return Math.min(places, free);
  const kept = Math.min(free, leases.placesKept(spec.key));
  return Math.min(places, kept + Math.floor((free - kept) / processors));
}

/**
 * Names of keys. `tw1` is the version of the layout: what the keys are called and what is in them (written down in lua/leases.lua).
 *
 * Two releases share one layout: with side-by-side prefixes each tenant would have two full limits during a rolling upgrade. A change that
 * old releases can't read needs two steps. Release N reads both forms and writes the old one; release N+1 writes the new one and still reads
 * the old. Records tell their form: of a bucket and of totals by their length, of a lease by its first letter (its state). Only once no bucket, lease or
 * tombstone of the old form can be left (leases: 24 h; buckets: their refill time and ten minutes) may reading it be dropped.
 *
 * The number of the layout stands in `layout` (`tw1:layout`, whatever later keys are called). Where a release comes that old ones must not run
 * beside, it writes its number there, and waits for four heartbeats (`PROCESSOR_MS`) before it writes anything else: by then all older processors
 * have seen it, write nothing more, and go by `onStoreFailure`. It brings along what is there, or reads both.
 *
 * The place for both forms is `parse_bucket`/`write_buckets` in lua/buckets.lua, `parse_lease`/`pack_lease` in lua/leases.lua and `book` in lua/ledger.lua.
 */
const LAYOUT = 'tw1:';

const BRACES = /[%{}]/g;

/** Keys of one store. `prefix` sets several stores apart that share a server. */
export class Keys {
  readonly #start: string;

  constructor(prefix: string) {
    // A brace before the tag would be taken for the tag.
    this.#start = `${prefix.replace(BRACES, encoded)}${LAYOUT}`;
  }

  /** The key that scripts make all keys of a root from; all have the root as hash tag. */
  clock(rootId: string): string {
    return `${this.#root(rootId)}c`;
  }

  /** Running leases of a root. */
  leases(rootId: string): string {
    return `${this.#root(rootId)}x`;
  }

  /** Numbers of running leases by tenant, of those that hold no bucket of their own tenant. */
  leaseCounts(rootId: string): string {
    return `${this.#root(rootId)}n`;
  }

  lease(rootId: string, leaseId: string): string {
    return `${this.#root(rootId)}l:${leaseId}`;
  }

  bucket(rootId: string, bucketKey: string): string {
    return `${this.#root(rootId)}b:${bucketKey}`;
  }

  /** Names of a tenant's buckets. */
  tenantBuckets(rootId: string, tenantId: string): string {
    return `${this.#root(rootId)}k:${tenantId}`;
  }

  /** Totals of a root's tenants: of all time, and of the latest day and month of each. */
  totals(rootId: string): string {
    return `${this.#root(rootId)}u`;
  }

  /** Totals of those of a root's tenants for which that day or month is over. */
  totalsBefore(rootId: string, period: string): string {
    return `${this.#root(rootId)}u:${period}`;
  }

  recentEvents(rootId: string): string {
    return `${this.#root(rootId)}e`;
  }

  /** Events that no sink has acknowledged. */
  queuedEvents(rootId: string): string {
    return `${this.#root(rootId)}q`;
  }

  /** Outside of all roots: each is a key of its own slot. */
  shared(name: SharedKey): string {
    return `${this.#start}${name}`;
  }

  /** Three keys of one slot. */
  learned(): readonly [states: string, order: string, sums: string] {
    const base = `${this.#start}{learned}:`;
    return [`${base}s`, `${base}o`, `${base}n`];
  }

  #root(rootId: string): string {
    return `${this.#start}{${encodeTag(rootId)}}:`;
  }
}

/**
 * `live`: roots with leases. `queued`: roots with events for a sink. `roots`: all roots, by their last use. `tenants`: roots of
 * tenants. `processors`: those that live. `export`: who hands events to the sink. `layout`: number of the layout.
 */
export type SharedKey = 'layout' | 'live' | 'queued' | 'roots' | 'tenants' | 'processors' | 'export';

/** Any text as it may stand in a hash tag: not empty, without braces. */
function encodeTag(text: string): string {
  return text === '' ? '%' : text.replace(BRACES, encoded);
}

function encoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16)}`;
}

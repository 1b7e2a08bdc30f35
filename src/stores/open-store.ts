import type { Store } from '../domain/store.js';
import type { JournalSettings, RedisAddress, StoreSettings } from '../domain/store-settings.js';
import type { Clock } from '../lib/clock.js';
import { codeOf, StoreConnectError } from './connect/connect-error.js';
import { evictionPolicies } from './connect/eviction.js';
import { connectStore, type ConnectionState, type StoreConnection } from './connect/connect.js';
import { createFallbackStore } from './fallback/fallback.js';
import type { FallbackObserver, FallbackStore, StoreHealth } from './fallback/fallback-parts.js';
import { Heartbeats } from './fallback/heartbeats.js';
import { Journal } from './fallback/journal.js';
import { openJournal } from './fallback/journal-file.js';
import { createMemoryStore } from './memory.js';
import { within } from './fallback/within.js';
import { withKnownLayout } from './redis/known-layout.js';
import { Layout, newerLayout } from './redis/layout.js';
import { createRedisStore } from './redis/redis-store.js';
import { loadScripts } from './redis/scripts.js';

/** How long the start waits for the first connection: after it the processor serves as while the store is away. */
const FIRST_CONNECTION_MS = 2_000;
/** How long it may wait for what is done with a new connection. */
const PREPARED_MS = 1_000;
/** Reasons that are told in one outage: many nodes may each have their own. */
const MAX_REASONS = 8;
/** Bounds the journal beside its bytes. */
const MAX_JOURNAL_ENTRIES = 500_000;

/** Told what happens between the processor and its shared store; must not throw. */
export interface StoreObserver extends FallbackObserver {
  /** `fault`: why it is not connected, in words without secrets. */
  connection(state: ConnectionState, fault: string | null): void;
  /** Something of the store is set up so that limits will be wrong one day, in one sentence. */
  misconfigured?(advice: string): void;
  /** The store is of a later release, and is not written to: why, in words. Null: it no longer is. */
  layout?(newer: string | null): void;
  /** Events that waited for a sink gave way to newer ones: it stayed away for too long. */
  eventsLost?(events: number): void;
}

export interface StorePorts {
  readonly clock: Clock;
  /** From 0 to 1, 1 excluded. */
  readonly random: () => number;
  /** Name of this processor. */
  readonly owner: string;
  readonly observer: StoreObserver;
}

/** The store that a configuration names. */
export interface OpenedStore {
  readonly store: Store;
  /** Waits a moment for the first connection, and tells the others that this processor lives. Never rejects. */
  start(): Promise<void>;
  /** `away` as soon as the connection is lost, or the store is of a later release, before any request noticed. */
  health(): StoreHealth;
  /** Why it must not be written to, in words: it is of a later release. Null: it may. */
  refusal(): string | null;
  /** Books what waits, within a bound, and disconnects. */
  close(): Promise<void>;
}

/** Opens it. A shared one need not be there. @throws Error in one sentence: a TLS file or the journal can't be read. */
export async function openStore(settings: StoreSettings, ports: StorePorts): Promise<OpenedStore> {
  const keepEvents = settings.ledger.file !== null;
  const onEventsLost = (events: number): void => ports.observer.eventsLost?.(events);
  if (settings.address.kind === 'memory') return openedStore(createMemoryStore({ keepEvents, onEventLost: () => { onEventsLost(1); } }));
  const journal = await journalOf(settings.journal, ports);
  const connection = connect(settings.address, ports);
  const onFault = (error: unknown): void => {
    ports.observer.storeFault(error);
  };
  const layout = new Layout({ client: connection.client, onChange: (newer) => { ports.observer.layout?.(newer === null ? null : newerLayout(newer)); } });
  const shared = createRedisStore({ client: connection.client, time: 'server', keepEvents, onEventsLost, onFault });
  return withFallback({ store: withKnownLayout(shared, layout), connection, layout, journal }, settings, ports);
}

/** A store that is always there. */
export function openedStore(store: Store): OpenedStore {
  return { store, start: () => Promise.resolve(), health: () => 'up', refusal: () => null, close: () => store.close() };
}

function connect(address: RedisAddress, { clock, random, observer }: StorePorts): StoreConnection {
  const connection = connectStore(address, { clock, random });
  const reasons = new Set<string>();
  /** Each reason once in an absence. */
  const tell = (): void => {
    const [state, fault] = [connection.state(), connection.lastFault()];
    const reason = reasonOf(fault);
    if (state === 'ready') reasons.clear();
    else if (reasons.has(reason) || reasons.size >= MAX_REASONS) return;
    else reasons.add(reason);
    observer.connection(state, fault);
  };
  connection.onChange(tell);
  connection.onFault(() => {
    if (connection.state() !== 'ready') tell();
  });
  return connection;
}

/** What is done with each new connection, so that requests find it ready. Never rejects: nothing of it must succeed. */
async function prepare({ connection: { client }, layout }: Shared, { clock, observer }: StorePorts): Promise<void> {
  const all = Promise.allSettled([layout.check(), loadScripts(client), adviseOnEviction(client, observer)]);
  await within(clock, PREPARED_MS, () => all).catch(() => undefined);
}

async function adviseOnEviction(client: StoreConnection['client'], observer: StoreObserver): Promise<void> {
  const policies = await evictionPolicies(client);
  if (policies.length > 0) observer.misconfigured?.(`the store forgets limits when its memory is full: its maxmemory-policy is ${policies.join(', ')}, and should be noeviction`);
}

/** A fault without its numbers: ports and pauses make the same reason look new. */
function reasonOf(fault: string | null): string {
  return (fault ?? '').replaceAll(/\d+/g, '');
}

interface Shared {
  readonly store: Store;
  readonly connection: StoreConnection;
  readonly layout: Layout;
  readonly journal: Journal;
}

function withFallback(shared: Shared, settings: StoreSettings, ports: StorePorts): OpenedStore {
  const { timeoutMs, onFailure: mode } = settings;
  const { connection, layout, journal } = shared;
  const store: FallbackStore = createFallbackStore({ store: shared.store, ...ports, mode, timeoutMs, journal, processors: () => heartbeats.count() });
  const heartbeats = new Heartbeats({ store, ...ports });
  let prepared: Promise<void> = Promise.resolve();
  connection.onChange((state) => {
    if (state === 'ready') prepared = prepare(shared, ports);
  });
  return {
    store,
    start: async () => {
      const connected = await connection.ready(FIRST_CONNECTION_MS);
      if (!connected && connection.lastFault() === null) ports.observer.connection(connection.state(), `no answer within ${FIRST_CONNECTION_MS / 1_000} s`);
      await prepared;
      await heartbeats.start();
    },
    health: () => (connection.state() === 'ready' && layout.newer === null ? store.health() : 'away'),
    refusal: () => (layout.newer === null ? null : newerLayout(layout.newer)),
    close: async () => {
      heartbeats.stop();
      await store.close();
      connection.close();
    },
  };
}

async function journalOf({ file, maxBytes }: JournalSettings, { clock, observer }: StorePorts): Promise<Journal> {
  const bounds = { maxBytes, maxEntries: MAX_JOURNAL_ENTRIES };
  if (file === null) return new Journal(bounds);
  const onFault = (error: unknown): void => {
    observer.storeFault(error);
  };
  try {
    return await openJournal({ path: file, bounds, clock, onFault });
  } catch (error) {
    throw new StoreConnectError(`The journal ${file} can't be opened (${codeOf(error)}).`);
  }
}

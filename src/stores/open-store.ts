import type { Store } from '../domain/store.js';
import type { JournalSettings, RedisAddress, StoreSettings } from '../domain/store-settings.js';
import type { Clock } from '../lib/clock.js';
import { codeOf, StoreConnectError } from './connect/connect-error.js';
import { connectStore, type ConnectionState, type StoreConnection } from './connect/connect.js';
import { createFallbackStore } from './fallback/fallback.js';
import type { FallbackObserver, FallbackStore, StoreHealth } from './fallback/fallback-parts.js';
import { Heartbeats } from './fallback/heartbeats.js';
import { Journal } from './fallback/journal.js';
import { openJournal } from './fallback/journal-file.js';
import { createMemoryStore } from './memory.js';
import { createRedisStore } from './redis/redis-store.js';

/** How long the start waits for the first connection: after it the processor serves as while the store is away. */
const FIRST_CONNECTION_MS = 2_000;
/** Bounds the journal beside its bytes. */
const MAX_JOURNAL_ENTRIES = 500_000;

/** Told what happens between the processor and its shared store; must not throw. */
export interface StoreObserver extends FallbackObserver {
  /** `fault`: why it is not connected, in words without secrets. */
  connection(state: ConnectionState, fault: string | null): void;
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
  /** `away` as soon as the connection is lost, before any request noticed. */
  health(): StoreHealth;
  /** Books what waits, within a bound, and disconnects. */
  close(): Promise<void>;
}

/** Opens it. A shared one need not be there. @throws Error in one sentence: a TLS file or the journal can't be read. */
export async function openStore(settings: StoreSettings, ports: StorePorts): Promise<OpenedStore> {
  const keepEvents = settings.ledger.file !== null;
  if (settings.address.kind === 'memory') return openedStore(createMemoryStore({ keepEvents }));
  const journal = await journalOf(settings.journal, ports);
  const connection = connect(settings.address, ports);
  const onFault = (error: unknown): void => {
    ports.observer.storeFault(error);
  };
  const shared = createRedisStore({ client: connection.client, time: 'server', keepEvents, onFault });
  return withFallback(shared, connection, journal, settings, ports);
}

/** A store that is always there. */
export function openedStore(store: Store): OpenedStore {
  return { store, start: () => Promise.resolve(), health: () => 'up', close: () => store.close() };
}

function connect(address: RedisAddress, { clock, random, observer }: StorePorts): StoreConnection {
  const connection = connectStore(address, { clock, random });
  const tell = (): void => {
    observer.connection(connection.state(), connection.lastFault());
  };
  connection.onChange(tell);
  // The connection ended, says the first line; why it does not come back, only the attempts tell.
  connection.onNewFault(tell);
  return connection;
}

function withFallback(shared: Store, connection: StoreConnection, journal: Journal, settings: StoreSettings, ports: StorePorts): OpenedStore {
  const { timeoutMs, onFailure: mode } = settings;
  const store: FallbackStore = createFallbackStore({ store: shared, ...ports, mode, timeoutMs, journal, processors: () => heartbeats.count() });
  const heartbeats = new Heartbeats({ store, ...ports });
  return {
    store,
    start: async () => {
      const connected = await connection.ready(FIRST_CONNECTION_MS);
      // One that failed was told as it failed.
      if (!connected && connection.state() === 'connecting') ports.observer.connection('connecting', connection.lastFault());
      await heartbeats.start();
    },
    health: () => (connection.state() === 'ready' ? store.health() : 'away'),
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

import { Cluster, Redis } from 'ioredis';
import type { RedisAddress } from '../../domain/store-settings.js';
import type { Clock } from '../../lib/clock.js';
import { clusterOptions, redisOptions } from './client-options.js';
import { faultText } from './connect-error.js';
import { joinWrites } from './joined-writes.js';

export type RedisClient = Redis | Cluster;

/** `away`: not connected, and trying. */
export type ConnectionState = 'connecting' | 'ready' | 'away' | 'closed';

export interface ConnectPorts {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
}

/** A connection that comes back by itself. */
export interface StoreConnection {
  readonly client: RedisClient;
  /** One decision's keys must then share a hash tag. */
  readonly isCluster: boolean;
  /** Of a cluster: `ready` while any of its nodes is. */
  state(): ConnectionState;
  /** What went wrong last, in words without secrets; null since it is connected. */
  lastFault(): string | null;
  /** Tells each change of the state; returns how to stop that. */
  onChange(listener: (state: ConnectionState) => void): () => void;
  /** Calls the listener with each fault of the connection, also while the state stays. */
  onFault(listener: () => void): void;
  /** Whether it is connected within so long. It goes on trying if not. */
  ready(withinMs: number): Promise<boolean>;
  /** Ends it at once: what was not answered fails. */
  close(): void;
}

/** Begins to connect and never gives up. @throws StoreConnectError if its TLS files can't be read. */
export function connectStore(address: RedisAddress, { clock, random }: ConnectPorts): StoreConnection {
  const isCluster = address.topology.kind === 'cluster';
  const client = isCluster ? new Cluster([...address.nodes], clusterOptions(address, random)) : new Redis(redisOptions(address, random));
  joinWrites(client);
  const watched = watch(client, (error, wasReady) => `${faultText(error, secretsOf(address))}${wasReady ? '' : hintOf(error, address)}`);
  return {
    ...{ client, isCluster },
    state: watched.state,
    lastFault: watched.lastFault,
    onChange: watched.onChange,
    onFault: watched.onFault,
    ready: (withinMs) => readyWithin(watched, clock, withinMs),
    close: () => {
      watched.close();
      client.disconnect();
    },
  };
}

type Watched = Pick<StoreConnection, 'state' | 'lastFault' | 'onChange' | 'onFault' | 'close'>;

function watch(client: RedisClient, told: (error: unknown, wasReady: boolean) => string): Watched {
  const listeners = new Set<(state: ConnectionState) => void>();
  const faultListeners = new Set<() => void>();
  let state: ConnectionState = 'connecting';
  let fault: string | null = null;
  let wasReady = false;
  const become = (next: ConnectionState): void => {
    if (state === next || state === 'closed') return;
    state = next;
    for (const listener of listeners) listener(next);
  };
  const failed = (error: unknown): void => {
    // Commands that meet no connection only follow from what was told before.
    if (fault !== null && error instanceof Error && error.message.startsWith("Stream isn't writeable")) return;
    fault = told(error, wasReady);
    for (const listener of faultListeners) listener();
    // The client would go on in database 0, which may be somebody else's.
    if (isRefusedDatabase(error)) client.disconnect(true);
  };
  client.on('ready', () => {
    fault = null;
    wasReady = true;
    become('ready');
  });
  client.on('close', () => {
    become('away');
  });
  client.on('error', failed);
  client.on('node error', failed);
  return {
    state: () => state,
    lastFault: () => fault,
    onChange: (listener) => {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    onFault: (listener) => {
      faultListeners.add(listener);
    },
    close: () => {
      become('closed');
    },
  };
}

function isRefusedDatabase(error: unknown): boolean {
  if (!(error instanceof Error) || !('command' in error)) return false;
  const { command } = error;
  return typeof command === 'object' && command !== null && 'name' in command && command.name === 'select';
}

/** What a fault that says little mostly means, of a connection that never was. */
function hintOf(error: unknown, { tls, database }: RedisAddress): string {
  if (isRefusedDatabase(error)) return ` (database ${database})`;
  if (!(error instanceof Error)) return '';
  if (tls !== null && /ETIMEDOUT|wrong version number|packet length/.test(error.message)) return ' (does this port speak TLS?)';
  if (tls === null && /ECONNRESET|Connection is closed|EPIPE|Protocol error/i.test(error.message)) return ' (does this port speak TLS only, or are there too many clients?)';
  return '';
}

function readyWithin(watched: Watched, clock: Clock, withinMs: number): Promise<boolean> {
  if (watched.state() === 'ready') return Promise.resolve(true);
  return new Promise((resolve) => {
    const end = (answer: boolean): void => {
      cancel();
      stop();
      resolve(answer);
    };
    const cancel = clock.after(withinMs, () => {
      end(false);
    });
    const stop = watched.onChange((state) => {
      if (state === 'ready' || state === 'closed') end(state === 'ready');
    });
  });
}

function secretsOf({ login, topology }: RedisAddress): string[] {
  const logins = [login, topology.kind === 'sentinel' ? topology.login : null];
  return logins.flatMap((each) => (each === null ? [] : [each.password]));
}

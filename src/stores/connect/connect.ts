import { Cluster, Redis } from 'ioredis';
import type { RedisAddress } from '../../domain/store-settings.js';
import type { Clock } from '../../lib/clock.js';
import { clusterOptions, redisOptions } from './client-options.js';
import { faultText } from './connect-error.js';

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
  /** Tells when an attempt to come back fails for a reason that was not told since the connection was lost: `lastFault` has it. */
  onNewFault(listener: () => void): void;
  /** Whether it is connected within so long. It goes on trying if not. */
  ready(withinMs: number): Promise<boolean>;
  /** Ends it at once: what was not answered fails. */
  close(): void;
}

/** Begins to connect and never gives up. @throws StoreConnectError if its TLS files can't be read. */
export function connectStore(address: RedisAddress, { clock, random }: ConnectPorts): StoreConnection {
  const isCluster = address.topology.kind === 'cluster';
  const client = isCluster ? new Cluster([...address.nodes], clusterOptions(address, random)) : new Redis(redisOptions(address, random));
  const watched = watch(client, secretsOf(address));
  return {
    ...{ client, isCluster },
    state: watched.state,
    lastFault: watched.lastFault,
    onChange: watched.onChange,
    onNewFault: watched.onNewFault,
    ready: (withinMs) => readyWithin(watched, clock, withinMs),
    close: () => {
      watched.close();
      client.disconnect();
    },
  };
}

/** Reasons that are told in one outage: many nodes may each have their own. */
const MAX_REASONS = 8;

type Watched = Pick<StoreConnection, 'state' | 'lastFault' | 'onChange' | 'onNewFault' | 'close'>;

function watch(client: RedisClient, secrets: readonly string[]): Watched {
  const listeners = new Set<(state: ConnectionState) => void>();
  const faultListeners = new Set<() => void>();
  const told = new Set<string>();
  let state: ConnectionState = 'connecting';
  let fault: string | null = null;
  const become = (next: ConnectionState): void => {
    if (state === next || state === 'closed') return;
    state = next;
    if (next === 'ready') told.clear();
    else if (fault !== null) told.add(reasonOf(fault));
    for (const listener of listeners) listener(next);
  };
  const failed = (error: unknown): void => {
    fault = faultText(error, secrets);
    const reason = reasonOf(fault);
    if (state !== 'away' || told.has(reason) || told.size >= MAX_REASONS) return;
    told.add(reason);
    for (const listener of faultListeners) listener();
  };
  client.on('ready', () => {
    fault = null;
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
    onNewFault: (listener) => {
      faultListeners.add(listener);
    },
    close: () => {
      become('closed');
    },
  };
}

/** A fault without its numbers: ports and pauses make the same reason look new. */
function reasonOf(fault: string): string {
  return fault.replaceAll(/\d+/g, '');
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

import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import type { ClusterOptions, RedisOptions } from 'ioredis';
import type { RedisAddress, RedisTls } from '../../domain/store-settings.js';
import { backoff } from './backoff.js';
import { codeOf, StoreConnectError } from './connect-error.js';

/** A server that does not take a connection within this is tried again, in milliseconds. */
const CONNECT_TIMEOUT_MS = 2_000;
/** Bound of every command, also of those that no request waits for, in milliseconds. */
const COMMAND_TIMEOUT_MS = 2_000;
/** A connection on which a command waits and nothing comes for so long counts as dead: a network may lose it silently. */
const SILENCE_MS = 2_500;
/** How often a cluster is asked who serves what, in milliseconds. */
const SLOTS_REFRESH_MS = 2_000;

/**
 * How a client connects. Nothing is queued while there is no connection, and nothing is sent again on the next one: the store's
 * commands may be repeated, and who gave the command decides that.
 */
export function redisOptions(address: RedisAddress, random: () => number): RedisOptions {
  const { topology, nodes, database } = address;
  const retry = backoff(random);
  const common: RedisOptions = { ...commonOptions(address), db: database, retryStrategy: retry, enableOfflineQueue: false };
  if (topology.kind !== 'sentinel') return { ...common, host: nodes[0]?.host, port: nodes[0]?.port };
  return {
    ...common,
    sentinels: nodes.map(({ host, port }) => ({ host, port })),
    name: topology.masterName,
    sentinelUsername: topology.login?.username ?? undefined,
    sentinelPassword: topology.login?.password,
    sentinelRetryStrategy: retry,
    sentinelReconnectStrategy: retry,
    sentinelCommandTimeout: COMMAND_TIMEOUT_MS,
    sentinelTLS: common.tls,
    enableTLSForSentinelMode: common.tls !== undefined,
    // Sentinels tell a fail-over: an old master that only hangs would not.
    failoverDetector: true,
  };
}

/** As `redisOptions`, of a cluster. A command that meets a moved slot follows it; one that meets a dead node fails soon. */
export function clusterOptions(address: RedisAddress, random: () => number): ClusterOptions {
  return {
    redisOptions: commonOptions(address),
    enableOfflineQueue: false,
    clusterRetryStrategy: backoff(random),
    maxRedirections: 4,
    retryDelayOnFailover: 50,
    retryDelayOnClusterDown: 50,
    retryDelayOnTryAgain: 20,
    slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
    slotsRefreshInterval: SLOTS_REFRESH_MS,
    // With certificates the name matters: nodes are asked for by what the cluster calls them.
    dnsLookup: (host, done) => {
      done(null, host);
    },
  };
}

function commonOptions({ login, tls }: RedisAddress): RedisOptions {
  return {
    // Its scripts answer the same in both; this one needs no permission for HELLO.
    protocol: 2,
    username: login?.username ?? undefined,
    password: login?.password,
    tls: tls === null ? undefined : tlsOptions(tls),
    connectionName: 'tokenweir',
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
    socketTimeout: SILENCE_MS,
    keepAlive: 10_000,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    // A fail-over made the server a replica: the next connection finds the new master.
    reconnectOnError: (error) => error.message.includes('READONLY'),
  };
}

function tlsOptions({ caFile, certFile, keyFile, serverName, acceptAnyCertificate }: RedisTls): ConnectionOptions {
  return {
    minVersion: 'TLSv1.2',
    rejectUnauthorized: !acceptAnyCertificate,
    ...(caFile === null ? {} : { ca: readPem(caFile) }),
    ...(certFile === null ? {} : { cert: readPem(certFile) }),
    ...(keyFile === null ? {} : { key: readPem(keyFile) }),
    ...(serverName === null ? {} : { servername: serverName }),
  };
}

function readPem(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new StoreConnectError(`The store's TLS file ${path} can't be read (${codeOf(error)}).`);
  }
}

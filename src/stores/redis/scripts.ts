import { readFileSync } from 'node:fs';
import type { Cluster, Redis } from 'ioredis';

/** A client of one server (or of a master that Sentinels name), or of a cluster. */
export type RedisClient = Redis | Cluster;

export type Argument = string | number;

/** The commands that `defineScripts` adds to a client: keys first, as each script's head says. */
export interface Scripts {
  twReserve(clockKey: string, ...args: Argument[]): Promise<number[]>;
  twRenew(clockKey: string, ...args: Argument[]): Promise<string[]>;
  twSettle(clockKey: string, ...args: Argument[]): Promise<[kind: string, booked?: string]>;
  twCancel(clockKey: string, ...args: Argument[]): Promise<[kind: string, booked?: string]>;
  twExpired(clockKey: string, ...args: Argument[]): Promise<(string | number)[]>;
  twReap(clockKey: string, ...args: Argument[]): Promise<number>;
  twHeartbeat(key: string, ...args: Argument[]): Promise<number>;
  twClaim(key: string, ...args: Argument[]): Promise<number>;
  twLearn(statesKey: string, orderKey: string, sumsKey: string, ...args: Argument[]): Promise<number>;
}

/** The .lua files ship with the package, beside the sources; from `src` and from `dist` the way there is the same. */
const FOLDER = new URL('../../../src/stores/lua/', import.meta.url);

const FILES: readonly (readonly [command: keyof Scripts, file: string, numberOfKeys: number])[] = [
  ['twReserve', 'reserve', 1],
  ['twRenew', 'renew', 1],
  ['twSettle', 'settle', 1],
  ['twCancel', 'cancel', 1],
  ['twExpired', 'expired', 1],
  ['twReap', 'reap', 1],
  ['twHeartbeat', 'heartbeat', 1],
  ['twClaim', 'claim', 1],
  ['twLearn', 'learn', 3],
];

/**
 * Teaches a client the store's scripts. They are called by their digest; a server that does not know it (new, restarted, failed over) gets the
 * text once. Twice is once.
 */
export function defineScripts(client: RedisClient): Scripts {
  const shared = textOf('lib');
  for (const [command, file, numberOfKeys] of FILES) {
    if (!(command in client)) client.defineCommand(command, { numberOfKeys, lua: `${shared}\n${textOf(file)}` });
  }
  return client as unknown as Scripts;
}

function textOf(file: string): string {
  return readFileSync(new URL(`${file}.lua`, FOLDER), 'utf8');
}

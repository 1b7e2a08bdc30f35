import { readFileSync } from 'node:fs';
import type { Cluster, Redis } from 'ioredis';

/** A client of one server (or of a master that Sentinels name), or of a cluster. */
export type RedisClient = Redis | Cluster;

export type Argument = string | number | Buffer;

/** What ends of leases answer; `lostEvents`: so many that waited for a sink gave way. */
export type Ended = [kind: string, booked?: string, lostEvents?: number];

/** The commands that `defineScripts` adds to a client: keys first, as each script's head says. `…Buffer`: answers with bytes. */
export interface Scripts {
  twReserveBuffer(clockKey: string, ...args: Argument[]): Promise<Buffer>;
  twRenew(clockKey: string, ...args: Argument[]): Promise<string[]>;
  twSettle(clockKey: string, ...args: Argument[]): Promise<Ended>;
  twCancel(clockKey: string, ...args: Argument[]): Promise<Ended>;
  twExpired(clockKey: string, ...args: Argument[]): Promise<(string | number)[]>;
  twReap(clockKey: string, ...args: Argument[]): Promise<[ended: number, lostEvents: number]>;
  twAudit(clockKey: string, ...args: Argument[]): Promise<number>;
  twHeartbeat(key: string, ...args: Argument[]): Promise<number>;
  twClaim(key: string, ...args: Argument[]): Promise<number>;
  twMark(key: string, ...args: Argument[]): Promise<number>;
  twAcknowledge(key: string, ...args: Argument[]): Promise<number>;
  twPrune(key: string, ...args: Argument[]): Promise<number>;
  twLearn(statesKey: string, orderKey: string, sumsKey: string, ...args: Argument[]): Promise<number>;
}

/** The .lua files ship with the package, beside the sources; from `src` and from `dist` the way there is the same. */
const FOLDER = new URL('../../../src/stores/lua/', import.meta.url);

interface Script {
  readonly file: string;
  readonly keys: number;
  /** Files of functions that it needs, in this order. */
  readonly needs: readonly string[];
}

const TIME = ['time'];
const TIMES = [...TIME, 'ahead'];
const RESERVE = ['time', 'buckets', 'leases'];
const LEASES = [...RESERVE, 'records'];
const LEDGER = [...LEASES, 'ends', 'ledger'];

type ScriptName = Exclude<keyof Scripts, 'twReserveBuffer'> | 'twReserve';

const SCRIPTS: Readonly<Record<ScriptName, Script>> = {
  twReserve: { file: 'reserve', keys: 1, needs: RESERVE },
  twRenew: { file: 'renew', keys: 1, needs: LEASES },
  twSettle: { file: 'settle', keys: 1, needs: LEDGER },
  twCancel: { file: 'cancel', keys: 1, needs: LEDGER },
  twExpired: { file: 'expired', keys: 1, needs: LEASES },
  twReap: { file: 'reap', keys: 1, needs: LEDGER },
  twAudit: { file: 'audit', keys: 1, needs: LEASES },
  twHeartbeat: { file: 'heartbeat', keys: 1, needs: TIMES },
  twClaim: { file: 'claim', keys: 1, needs: TIME },
  twMark: { file: 'mark', keys: 1, needs: TIME },
  twAcknowledge: { file: 'acknowledge', keys: 1, needs: [] },
  twPrune: { file: 'prune', keys: 1, needs: TIMES },
  twLearn: { file: 'learn', keys: 3, needs: [] },
};

/**
 * Teaches a client the store's scripts. They are called by their digest; a server that does not know it (new, restarted, failed over) gets the
 * text once. Twice is once.
 */
export function defineScripts(client: RedisClient): Scripts {
  for (const [command, { file, keys, needs }] of Object.entries(SCRIPTS)) {
    if (!(command in client)) client.defineCommand(command, { numberOfKeys: keys, lua: [...needs, file].map(textOf).join('\n') });
  }
  return client as unknown as Scripts;
}

/** Gives every server the scripts before they are needed: the first requests would wait for that. Those that it then lacks are taught as ever. */
export async function loadScripts(client: RedisClient): Promise<void> {
  const servers = client.isCluster ? (client as Cluster).nodes('master') : [client as Redis];
  const texts = Object.values(SCRIPTS).map(({ file, needs }) => [...needs, file].map(textOf).join('\n'));
  await Promise.all(servers.flatMap((server) => texts.map((text) => server.script('LOAD', text))));
}

function textOf(file: string): string {
  return readFileSync(new URL(`${file}.lua`, FOLDER), 'utf8');
}

import { readFileSync } from 'node:fs';
import type { RedisClient } from '../connect/connect.js';

type Argument = string | number;

/** The commands that `definePoolScripts` adds to a client: keys first, as each script's head says. */
export interface PoolScripts {
  twPoolBeat(claim: string, processors: string, saved: string, asks: string, told: string, ...args: Argument[]): Promise<string[]>;
  /** `keys`: how many there are. */
  twPoolTell(keys: number, ...args: Argument[]): Promise<number>;
  twPoolLeave(keys: number, ...args: Argument[]): Promise<number>;
}

/** The .lua files ship with the package, beside the sources; from `src` and from `dist` the way there is the same. */
const FOLDER = new URL('../../../src/stores/lua/', import.meta.url);

const SCRIPTS: Readonly<Record<keyof PoolScripts, { readonly file: string; readonly keys?: number }>> = {
  twPoolBeat: { file: 'pool-beat', keys: 5 },
  twPoolTell: { file: 'pool-tell' },
  twPoolLeave: { file: 'pool-leave' },
};

/** Teaches a client the scripts of pools. Twice is once. */
export function definePoolScripts(client: RedisClient): PoolScripts {
  for (const [command, { file, keys }] of Object.entries(SCRIPTS)) {
    if (command in client) continue;
    client.defineCommand(command, { lua: ['time', 'ahead', file].map(textOf).join('\n'), ...(keys === undefined ? {} : { numberOfKeys: keys }) });
  }
  return client as unknown as PoolScripts;
}

function textOf(file: string): string {
  return readFileSync(new URL(`${file}.lua`, FOLDER), 'utf8');
}

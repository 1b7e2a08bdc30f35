import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { PROJECT_ROOT } from '../../src/services/resolve.js';

export interface Options {
  /** Numbers of the figures to measure. */
  readonly only: readonly number[];
  /** Rounds of each way; the figure is the median. */
  readonly rounds: number;
  readonly roundMs: number;
  /** Of everything less; for a look, not for a verdict. */
  readonly quick: boolean;
  readonly envoyConfig: 'envoy.yaml' | 'envoy.duplex.yaml';
  /** The processor under test keeps its counts in a Redis of the bench's own. */
  readonly redis: boolean;
  /** Path of an Envoy; null: found or installed as everywhere. */
  readonly envoy: string | null;
  /** The program under test: its main.js. */
  readonly processor: string;
  /** Of the processor under test, such as --cpu-prof. */
  readonly nodeOptions: readonly string[];
}

export const HELP = `npm run bench -- [options]

Measures what the processor costs, against a processor that does nothing: same Envoy, same configuration, same load, by turns.

  --only 1,4         these figures only:
                     1 full decision, 16 connections     2 streams of 50 events      3 one request at a time
                     4 500 streams and big prompts       5 CPU of a big prompt       6 memory of 2,000 streams
                     7 100,000 requests
  --rounds N         rounds of each way (default 7)
  --round-seconds N  length of a round (default 4)
  --quick            short rounds, fewer streams and requests: for a look, not for a verdict
  --duplex           envoy.duplex.yaml in place of envoy.yaml
  --redis            the processor under test keeps its counts in a redis-server (TOKENWEIR_REDIS or on the PATH)
  --envoy PATH       the Envoy to use
  --processor PATH   another build's main.js, to compare two builds
  --node-option OPT  an option of Node for the processor under test, such as --cpu-prof; may be repeated

Result: a table, and .cache/bench.json. Ctrl-C stops everything.
`;

const FIGURES = [1, 2, 3, 4, 5, 6, 7];

/** Null: help is wanted. @throws Error in one sentence. */
export function parseOptions(args: readonly string[]): Options | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', default: FIGURES.join(',') },
      rounds: { type: 'string' },
      'round-seconds': { type: 'string' },
      quick: { type: 'boolean', default: false },
      duplex: { type: 'boolean', default: false },
      redis: { type: 'boolean', default: false },
      envoy: { type: 'string' },
      processor: { type: 'string', default: join(PROJECT_ROOT, 'dist', 'main.js') },
      'node-option': { type: 'string', multiple: true, default: [] },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return null;
  const only = values.only.split(',').map(Number);
  if (only.some((number) => !FIGURES.includes(number))) throw new Error(`--only takes numbers from 1 to ${FIGURES.length}, such as 1,4`);
  return {
    only,
    rounds: positive('--rounds', values.rounds, values.quick ? 3 : 7),
    roundMs: 1000 * positive('--round-seconds', values['round-seconds'], values.quick ? 1 : 4),
    quick: values.quick,
    envoyConfig: values.duplex ? 'envoy.duplex.yaml' : 'envoy.yaml',
    redis: values.redis,
    envoy: values.envoy ?? null,
    processor: values.processor,
    nodeOptions: values['node-option'],
  };
}

function positive(name: string, text: string | undefined, otherwise: number): number {
  const number = text === undefined ? otherwise : Number(text);
  if (!(number > 0)) throw new Error(`${name} takes a number above 0`);
  return number;
}

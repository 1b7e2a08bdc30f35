import { parseArgs } from 'node:util';

/** What the command line asks for. */
export type Command =
  | { readonly kind: 'serve'; readonly config: string }
  | { readonly kind: 'check'; readonly config: string }
  | { readonly kind: 'hash-key'; readonly key: string | null }
  | { readonly kind: 'demo'; readonly real: boolean; readonly envoy: string | null }
  | SimulateCommand
  | { readonly kind: 'simulate-help' }
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  /** The command line makes no sense; `message` says why, `help` what would. */
  | { readonly kind: 'usage'; readonly message: string; readonly help: string };

export interface SimulateCommand {
  readonly kind: 'simulate';
  readonly config: string;
  readonly scenario: string | null;
  readonly trace: string | null;
  /** Names of policies, as they were given. */
  readonly policies: readonly string[];
  /** All policies, on the same arrivals. */
  readonly compare: boolean;
  readonly seed: number | null;
  readonly speedUp: number | null;
  /** Work offered, as a multiple of the capacity. */
  readonly scale: number | null;
  readonly json: string | null;
  readonly chart: string | null;
}

export const HELP = `tokenweir: a scheduler for LLM traffic that counts tokens, as an Envoy external processor

usage:
  tokenweir serve --config FILE      run the processor (default FILE: tokenweir.yaml)
  tokenweir check --config FILE      tell all problems of a configuration, with line and field; exit 1 if there are any
  tokenweir hash-key [KEY]           the sha256:… of an API key, for the configuration (without KEY: read from standard input,
                                     which keeps it out of the shell's history)
  tokenweir demo [--real] [--envoy PATH]
                                     Envoy, processor and upstream on this machine, with a short guided load
                                     --real    a real LiteLLM proxy and a real llama.cpp server behind it
                                     --envoy   the Envoy binary to use (else the one in TOKENWEIR_ENVOY, else on the PATH,
                                               else it is installed into .cache/)
  tokenweir simulate --scenario FILE | --trace FILE
                                     the pools of a configuration under load, on virtual time: tables, JSON, a chart
                                     (more: tokenweir simulate --help)
  tokenweir --help, --version

signals of a serving processor: SIGTERM, SIGINT drain and stop (a second one stops at once); SIGHUP reloads the configuration
`;

export const SIMULATE_HELP = `tokenweir simulate: what the pools of a configuration would do under a load, on virtual time (docs/simulate.md)

usage:
  tokenweir simulate --config FILE (--scenario FILE | --trace FILE | both) [options]

  --config FILE      the configuration with the pools and entitlements (default: tokenweir.yaml)
  --scenario FILE    YAML: engine, tenants and their load, failures; an example is in docs/simulate.md
  --trace FILE       requests from a trace: Azure's CSV, Mooncake's JSON lines, or tokenweir's own usage ledger;
                     without a scenario its rows are spread over the pool's entitlements
  --policy NAME      who decides: tokenweir (default), vtc, fcfs, static, none; several with commas
  --compare          all of them, on the same arrivals
  --scale X          scale the rates so that the work offered is X times the capacity
  --speed-up X       multiply the rates by X
  --seed N           for other chance (default: the scenario's, else 1)
  --json FILE        the results with their series
  --chart FILE       an SVG of load, shares, debts and queues over time (several policies: one file each, FILE with the name in it)
`;

const OPTIONS = {
  config: { type: 'string', short: 'c' },
  real: { type: 'boolean' },
  envoy: { type: 'string' },
  scenario: { type: 'string' },
  trace: { type: 'string' },
  policy: { type: 'string' },
  compare: { type: 'boolean' },
  seed: { type: 'string' },
  'speed-up': { type: 'string' },
  scale: { type: 'string' },
  json: { type: 'string' },
  chart: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
} as const;

const DEFAULT_CONFIG = 'tokenweir.yaml';

/** Options that each command takes. */
const TAKES: Readonly<Record<string, readonly string[]>> = {
  serve: ['config'],
  check: ['config'],
  'hash-key': [],
  demo: ['real', 'envoy'],
  simulate: ['config', 'scenario', 'trace', 'policy', 'compare', 'seed', 'speed-up', 'scale', 'json', 'chart'],
};

/** Reads the arguments behind the program's name. Never throws. */
export function parseCommand(args: readonly string[]): Command {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(args);
  } catch (error) {
    return usage(firstSentence((error as Error).message), args[0]);
  }
  const { values, positionals } = parsed;
  if (values.help === true) return { kind: positionals[0] === 'simulate' ? 'simulate-help' : 'help' };
  if (values.version === true) return { kind: 'version' };
  const [name, ...rest] = positionals;
  return misfit(name, rest, Object.keys(values)) ?? commandOf(name!, rest, values);
}

/** `name`: the command that was meant, whose help is shown. */
function usage(message: string, name?: string): Command {
  return { kind: 'usage', message, help: name === 'simulate' ? SIMULATE_HELP : HELP };
}

/** Node goes on with how to pass an argument that begins with a dash, which no command takes. */
function firstSentence(message: string): string {
  return message.split(/\.\s/, 1)[0]!;
}

function parse(args: readonly string[]) {
  return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
}

function misfit(name: string | undefined, rest: readonly string[], given: readonly string[]): Command | null {
  if (name === undefined) return usage('a command is missing');
  const takes = TAKES[name];
  if (takes === undefined) return usage(`there is no command '${name}'`);
  const option = given.find((key) => !takes.includes(key));
  if (option !== undefined) return usage(`'${name}' does not take --${option}`, name);
  if (rest.length > (name === 'hash-key' ? 1 : 0)) return usage(surplus(name, rest.at(-1)!), name);
  return null;
}

function surplus(name: string, argument: string): string {
  const hint = TAKES[name]?.includes('config') === true ? `: did you mean --config ${argument}?` : '';
  return `'${name}' does not take '${argument}'${hint}`;
}

function commandOf(name: string, rest: readonly string[], values: ReturnType<typeof parse>['values']): Command {
  const config = values.config ?? DEFAULT_CONFIG;
  switch (name) {
    case 'hash-key':
      return { kind: 'hash-key', key: rest[0] ?? null };
    case 'demo':
      return { kind: 'demo', real: values.real ?? false, envoy: values.envoy ?? null };
    case 'check':
      return { kind: 'check', config };
    case 'simulate':
      return simulateCommand(config, values);
    default:
      return { kind: 'serve', config };
  }
}

function simulateCommand(config: string, values: ReturnType<typeof parse>['values']): Command {
  const { scenario = null, trace = null, json = null, chart = null } = values;
  if (scenario === null && trace === null) return usage("'simulate' needs --scenario or --trace", 'simulate');
  const [seed, speedUp, scale] = [values.seed, values['speed-up'], values.scale].map((text) => (text === undefined ? null : text === '' ? NaN : Number(text)));
  if (seed !== null && !(Number.isInteger(seed) && seed! >= 0 && seed! < 2 ** 32)) return usage('--seed must be a whole number from 0 to 4294967295', 'simulate');
  const odd = [speedUp, scale].findIndex((factor) => factor !== null && !(factor! > 0 && factor! <= 1e6));
  if (odd >= 0) return usage(`--${odd === 0 ? 'speed-up' : 'scale'} must be a number above 0`, 'simulate');
  const policies = (values.policy ?? 'tokenweir').split(',');
  return { kind: 'simulate', config, scenario, trace, policies, compare: values.compare ?? false, seed: seed!, speedUp: speedUp!, scale: scale!, json, chart };
}

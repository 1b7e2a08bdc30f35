import { parseArgs } from 'node:util';

/** What the command line asks for. */
export type Command =
  | { readonly kind: 'serve'; readonly config: string }
  | { readonly kind: 'check'; readonly config: string }
  | { readonly kind: 'hash-key'; readonly key: string | null }
  | { readonly kind: 'demo'; readonly real: boolean; readonly envoy: string | null }
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  /** The command line makes no sense; `message` says why. */
  | { readonly kind: 'usage'; readonly message: string };

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
  tokenweir --help, --version

signals of a serving processor: SIGTERM, SIGINT drain and stop (a second one stops at once); SIGHUP reloads the configuration
`;

const OPTIONS = {
  config: { type: 'string', short: 'c' },
  real: { type: 'boolean' },
  envoy: { type: 'string' },
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
};

/** Reads the arguments behind the program's name. Never throws. */
export function parseCommand(args: readonly string[]): Command {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(args);
  } catch (error) {
    return { kind: 'usage', message: (error as Error).message };
  }
  const { values, positionals } = parsed;
  if (values.help === true) return { kind: 'help' };
  if (values.version === true) return { kind: 'version' };
  const [name, ...rest] = positionals;
  return misfit(name, rest, Object.keys(values)) ?? commandOf(name!, rest, values);
}

function parse(args: readonly string[]) {
  return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
}

function misfit(name: string | undefined, rest: readonly string[], given: readonly string[]): Command | null {
  if (name === undefined) return { kind: 'usage', message: 'a command is missing' };
  const takes = TAKES[name];
  if (takes === undefined) return { kind: 'usage', message: `there is no command '${name}'` };
  const option = given.find((key) => !takes.includes(key));
  if (option !== undefined) return { kind: 'usage', message: `'${name}' does not take --${option}` };
  if (rest.length > (name === 'hash-key' ? 1 : 0)) return { kind: 'usage', message: surplus(name, rest.at(-1)!) };
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
    default:
      return { kind: 'serve', config };
  }
}

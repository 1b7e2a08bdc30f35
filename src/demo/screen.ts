/** Where the demo writes. A pipe or a file gets the same text without colours. */
export interface Screen {
  readonly paint: Paint;
  line(text?: string): void;
}

/** Adds colour to text, or nothing where there is none. */
export interface Paint {
  bold(text: string): string;
  dim(text: string): string;
  good(text: string): string;
  bad(text: string): string;
}

export const NO_COLOUR: Paint = { bold: asIs, dim: asIs, good: asIs, bad: asIs };

const ANSI: Paint = { bold: painted(1), dim: painted(2), good: painted(32), bad: painted(31) };

/** The part of `process.stdout` that is needed. */
interface Output {
  readonly isTTY?: boolean;
  write(text: string): unknown;
  on(event: 'error', listener: () => void): unknown;
}

/**
 * Colours only on a terminal, and only where `NO_COLOR` is not set (https://no-color.org). `onGone`: whoever read the
 * output does so no longer (`| head`).
 */
export function createScreen(output: Output, env: NodeJS.ProcessEnv, onGone: () => void): Screen {
  output.on('error', onGone);
  const coloured = output.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
  return {
    paint: coloured ? ANSI : NO_COLOUR,
    line: (text = '') => {
      output.write(`${text}\n`);
    },
  };
}

function painted(code: number): (text: string) => string {
  return (text) => `\u001b[${code}m${text}\u001b[0m`;
}

function asIs(text: string): string {
  return text;
}

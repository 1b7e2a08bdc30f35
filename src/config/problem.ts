/** Something in the configuration that has to be put right, or that is hardly meant. Line and column count from 1. */
export interface Problem {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** The field, such as `tenants[0].limits.requestsPerMinute`; empty where it is the file as a whole. */
  readonly path: string;
  /** What is wrong, without the value: it may be a secret. */
  readonly message: string;
}

/** Keys and list indexes from the top of the document down. */
export type Path = readonly (string | number)[];

/** A problem before its place in the file is known. */
export interface Finding {
  readonly path: Path;
  readonly message: string;
  /** Whether the key or its value is at fault: where the place points to. */
  readonly at: 'key' | 'value';
}

const SHOWN = 100;

export function formatProblems(problems: readonly Problem[]): string {
  return problemLines(problems).join('\n');
}

/** One line a problem: `file:line:column path: message`. Very long lists are cut, saying so. */
export function problemLines(problems: readonly Problem[]): string[] {
  const lines = problems.slice(0, SHOWN).map(formatProblem);
  if (problems.length > SHOWN) lines.push(`… and ${problems.length - SHOWN} more`);
  return lines;
}

function formatProblem({ file, line, column, path, message }: Problem): string {
  return path === '' ? `${file}:${line}:${column} ${message}` : `${file}:${line}:${column} ${path}: ${message}`;
}

/** `tenants[0].limits`; keys that are no plain words are quoted. */
export function pathText(path: Path): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (/^[A-Za-z_][\w-]*$/.test(part)) text += text === '' ? part : `.${part}`;
    else text += `[${JSON.stringify(part)}]`;
  }
  return text;
}

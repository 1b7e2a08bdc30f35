/** The store can't be opened as configured. The message is one sentence, and never holds a password. */
export class StoreConnectError extends Error {
  override readonly name = 'StoreConnectError';
}

/** What the system calls a fault, such as `ENOENT`. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}

/** Longest text that is told of a fault. */
const SHOWN = 200;

/**
 * What a fault of the client says, without what it carries along: a refused login has its password in the error's
 * `command`, and a wrong option may be quoted.
 */
export function faultText(error: unknown, secrets: readonly string[]): string {
  const text = textOf(error);
  return secrets.reduce((safe, secret) => (secret === '' ? safe : safe.replaceAll(secret, '***')), text).slice(0, SHOWN);
}

/** Where several addresses were tried, the last one's fault is inside. */
function textOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return textOf(error.errors.at(-1));
  if (!(error instanceof Error)) return 'unknown fault';
  const inner = 'lastNodeError' in error && error.lastNodeError instanceof Error ? `: ${textOf(error.lastNodeError)}` : '';
  return `${error.message}${inner}`;
}

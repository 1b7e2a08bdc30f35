import { cleanLabel } from './bounded-labels.js';

/** What stands where a secret was. */
export const REDACTED = '[redacted]';

const SECRET_NAME = /authorization|api[-_]?key|^key$|token$|secret|password|passwd|credential|cookie|content$|prompt$|messages$|^body$/i;
const BEARER = /\b(bearer|basic)\s+\S+/gi;
const NAMED_SECRET = /((?:authorization|cookie|password|passwd|secret|credential)["']?\s*[:=]\s*["']?)[^\s"',;]+/gi;
/** Long values only: `unknown key: limts` is what an operator needs to read. */
const NAMED_KEY = /((?:key|token)["']?\s*[:=]\s*["']?)[^\s"',;]{12,}/gi;
const KEY_SHAPED = /\b(?:sk|pk|rk|key|api|xai|gsk|hf|ghp|AIza|AKIA)[-_]?(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{16,}/g;
const USER_INFO = /(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@]+@/gi;
const UNPRINTABLE = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}]/gu;
/** Enough for all problems of a configuration file. */
const MAX_TEXT = 4_000;

/** Whether a field of this name may hold a secret or what a client said. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/**
 * Free text made fit for the log: what looks like a credential is cut out, the length is bounded, control characters go.
 * Line ends stay, for JSON escapes them.
 */
export function scrub(text: string): string {
  const scrubbed = text
    .slice(0, MAX_TEXT)
    .replace(USER_INFO, `$1${REDACTED}@`)
    .replace(BEARER, `$1 ${REDACTED}`)
    .replace(NAMED_SECRET, `$1${REDACTED}`)
    .replace(NAMED_KEY, `$1${REDACTED}`)
    .replace(KEY_SHAPED, REDACTED);
  return scrubbed.replace(UNPRINTABLE, '_');
}

/** What is told of an error. */
export interface ErrorFields {
  readonly error: string;
  readonly code: string | null;
  readonly message: string | null;
  readonly at: readonly string[];
}

const FRAME = /^ {4}at [^\n]{1,300}:\d+:\d+\)?$/;
const MAX_FRAMES = 8;

/**
 * What may be told of an error. Its message only where `withMessage`: a message that arose while traffic was handled may
 * quote it (`Unexpected token 'h', "hello my…" is not valid JSON`), so there the class and the place in the code must do.
 */
export function errorFields(error: unknown, withMessage: boolean): ErrorFields {
  if (!(error instanceof Error)) return { error: typeof error, code: null, message: null, at: [] };
  const code = 'code' in error && (typeof error.code === 'string' || typeof error.code === 'number') ? scrub(String(error.code)) : null;
  const message = withMessage && !(error instanceof SyntaxError) ? scrub(error.message) : null;
  return { error: cleanLabel(error.name, 64), code, message, at: frames(error) };
}

/** The places in the code; the message, which heads the stack and could itself look like a place, is taken off first. */
function frames(error: Error): string[] {
  const stack = error.stack ?? '';
  const start = error.message === '' ? 0 : stack.indexOf(error.message);
  if (start < 0) return [];
  const lines = stack.slice(start + error.message.length).split('\n');
  return lines.filter((line) => FRAME.test(line)).slice(0, MAX_FRAMES).map((line) => line.trim());
}

import { pino, type Logger as Pino } from 'pino';
import type { FaultKind, RequestRecord } from '../domain/decision.js';
import type { Clock } from '../lib/clock.js';
import { FaultLimiter } from './fault-limiter.js';
import type { LogDestination } from './log-destination.js';
import { errorFields, isSecretName, REDACTED, scrub } from './redact.js';
import { requestFields } from './request-fields.js';

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

/** Flat facts of a line. Fields whose name sounds like a secret or like content are not written. */
export type LogFields = Readonly<Record<string, string | number | boolean | null>>;

export interface LogOptions {
  readonly level: LogLevel;
  readonly clock: Clock;
  readonly destination: LogDestination;
}

/** Messages of these kinds may quote traffic, so only the class of the error and its place are told. */
const QUOTES_TRAFFIC: ReadonlySet<string> = new Set<FaultKind>(['session', 'response_unreadable', 'unhandled']);

/**
 * JSON lines. What is written is picked field by field, never an object as it came; as a second net every free text is
 * scrubbed of what looks like a credential.
 */
export class Log {
  readonly #pino: Pino;
  readonly #faults: FaultLimiter;
  readonly #destination: LogDestination;
  readonly #time: () => string;

  constructor({ level, clock, destination }: LogOptions) {
    this.#time = () => new Date(clock.nowMs()).toISOString();
    this.#destination = destination;
    this.#pino = pino(
      {
        level,
        base: undefined,
        timestamp: () => `,"time":"${this.#time()}"`,
        formatters: { level: (label) => ({ level: label }) },
      },
      destination,
    );
    this.#faults = new FaultLimiter(clock, (kind, error, suppressed) => {
      this.#pino.warn({ kind, suppressed, ...errorFields(error, !QUOTES_TRAFFIC.has(kind)) }, 'fault');
    });
  }

  /** One line for a finished request: ids, figures, decision, durations; never content, never a key. */
  request(record: RequestRecord): void {
    if (!this.#pino.isLevelEnabled('info')) return;
    // As pino would write it, which makes a string of each field and puts them together: 6 KB for a line of 700 bytes.
    const fields = JSON.stringify(requestFields(record)).slice(1, -1);
    this.#destination.write(`{"level":"info","time":"${this.#time()}",${fields},"msg":"request"}\n`);
  }

  /** A fault; at most one line a second of each kind, the others are counted in `suppressed`. */
  fault(kind: FaultKind, error: unknown): void {
    this.#faults.fault(kind, error);
  }

  debug(message: string, fields: LogFields = {}): void {
    this.#pino.debug(safeFields(fields), scrub(message));
  }

  info(message: string, fields: LogFields = {}): void {
    this.#pino.info(safeFields(fields), scrub(message));
  }

  warn(message: string, fields: LogFields = {}): void {
    this.#pino.warn(safeFields(fields), scrub(message));
  }

  /** `cause` is told with its message: not for errors that arose from a client's bytes. */
  error(message: string, cause?: unknown, fields: LogFields = {}): void {
    const told = cause === undefined ? {} : { cause: errorFields(cause, true) };
    this.#pino.error({ ...safeFields(fields), ...told }, scrub(message));
  }

  setLevel(level: LogLevel): void {
    this.#pino.level = level;
  }

  /** Writes what is held back and waits, within the destination's bound, until it is out. */
  async close(): Promise<void> {
    this.#faults.stop();
    await this.#destination.close?.();
  }
}

function safeFields(fields: LogFields): LogFields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, safeValue(name, value)]));
}

/** Types can be lied to: an object that slipped in is named by its type, never walked. */
function safeValue(name: string, value: unknown): string | number | boolean | null {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
  if (isSecretName(name)) return REDACTED;
  return typeof value === 'string' ? scrub(value) : typeof value;
}

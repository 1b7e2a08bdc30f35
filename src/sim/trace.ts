/** One request of a trace. */
export interface TraceRow {
  /** From the trace's first request. */
  readonly atMs: number;
  readonly promptTokens: number;
  /** Part of `promptTokens` that the engine has cached. */
  readonly cachedTokens: number;
  readonly outputTokens: number;
  /** Requests of one session belong to one tenant; null: it stands alone. */
  readonly session: number | null;
  /** As the trace names it; null where it does not. */
  readonly tenant: string | null;
}

export type TraceFormat = 'azure' | 'mooncake' | 'ledger';

/** What was read of a file. */
export interface Trace {
  readonly format: TraceFormat;
  readonly rows: readonly TraceRow[];
  /** Lines that are no request: corrections, requests that were never served, torn lines of a ledger. */
  readonly passedOver: number;
}

/** A trace that can't be read, in one sentence with its line. */
export class TraceError extends Error {}

/** Bounds of what can be played: tokens of a prompt or an answer, and from the first request to the last. A number beyond is a fault of the file. */
const MAX_TOKENS = 10_000_000;
const MAX_SPAN_MS = 366 * 86_400_000;
/** Tokens of a block in Mooncake's `hash_ids`. */
const MOONCAKE_BLOCK_TOKENS = 512;

/**
 * Reads a trace: Azure's CSV (TIMESTAMP, ContextTokens, GeneratedTokens), Mooncake's JSON lines, or our own usage ledger.
 * @param cacheTokens size of the prefix cache that Mooncake's block hashes are looked up in (least recently used goes first); 0: none.
 * @throws TraceError
 */
export function readTrace(text: string, cacheTokens: number): Trace {
  const lines = text.split(/\r?\n/);
  const first = lines.find((line) => line.trim() !== '');
  if (first === undefined) throw new TraceError('the trace is empty');
  const format = formatOf(first);
  const { rows, passedOver } = READERS[format](lines, cacheTokens);
  if (rows.length === 0) throw new TraceError('the trace has no request');
  const sorted = rows.sort((a, b) => a.atMs - b.atMs);
  const startMs = sorted[0]!.atMs;
  if (sorted.at(-1)!.atMs - startMs > MAX_SPAN_MS) throw new TraceError('the requests are spread over more than a year: is a time among them wrong?');
  return { format, passedOver, rows: sorted.map((row) => ({ ...row, atMs: row.atMs - startMs })) };
}

type Reader = (lines: readonly string[], cacheTokens: number) => { rows: TraceRow[]; passedOver: number };

const READERS: Readonly<Record<TraceFormat, Reader>> = { azure: readAzure, mooncake: readMooncake, ledger: readLedger };

function formatOf(line: string): TraceFormat {
  if (/^\uFEFF?TIMESTAMP\s*,/i.test(line)) return 'azure';
  const fields = objectOf(line);
  if (fields !== null && 'input_length' in fields) return 'mooncake';
  if (fields !== null && 'leaseId' in fields) return 'ledger';
  throw new TraceError('line 1: neither Azure’s CSV, nor Mooncake’s JSON lines, nor a usage ledger');
}

function readAzure(lines: readonly string[]): { rows: TraceRow[]; passedOver: number } {
  const headerAt = lines.findIndex((line) => line.trim() !== '');
  const header = lines[headerAt]!.replace('\uFEFF', '').split(',').map((name) => name.trim().toLowerCase());
  const [at, prompt, output] = ['timestamp', 'contexttokens', 'generatedtokens'].map((name) => header.indexOf(name));
  if (at! < 0 || prompt! < 0 || output! < 0) throw new TraceError(`line ${headerAt + 1}: the columns TIMESTAMP, ContextTokens and GeneratedTokens are needed`);
  const rows: TraceRow[] = [];
  for (let i = headerAt + 1; i < lines.length; i++) {
    const line = lines[i]!;
    if (line.trim() === '') continue;
    const cells = line.split(',');
    const promptTokens = tokens(cells[prompt!], i);
    rows.push({ atMs: timeOf(cells[at!] ?? '', i), promptTokens, cachedTokens: 0, outputTokens: tokens(cells[output!], i), session: null, tenant: null });
  }
  return { rows, passedOver: 0 };
}

/** `2023-11-16 18:15:46.6805900`, or any time that JavaScript reads. Without a zone it is taken as UTC. */
function timeOf(cell: string, line: number): number {
  const match = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(\.\d+)?/.exec(cell.trim());
  const ms = match === null ? Date.parse(cell) : Date.parse(`${match[1]}T${match[2]}Z`) + Number(match[3] ?? 0) * 1000;
  if (!Number.isFinite(ms)) throw new TraceError(`line ${line + 1}: the time cannot be read`);
  return ms;
}

function readMooncake(lines: readonly string[], cacheTokens: number): { rows: TraceRow[]; passedOver: number } {
  const cache = new PrefixCache(Math.floor(cacheTokens / MOONCAKE_BLOCK_TOKENS));
  const sessions = new Sessions();
  const rows: TraceRow[] = [];
  lines.forEach((line, i) => {
    if (line.trim() === '') return;
    const fields = objectOf(line);
    if (fields === null) throw new TraceError(`line ${i + 1}: not a JSON object`);
    const promptTokens = tokens(fields['input_length'], i);
    const given = fields['hash_ids'];
    const blocks = Array.isArray(given) ? given.filter((id): id is number => typeof id === 'number') : [];
    // The last token is always computed: it makes the first of the answer.
    const cachedTokens = Math.max(0, Math.min(promptTokens - 1, cache.take(blocks) * MOONCAKE_BLOCK_TOKENS));
    const session = sessions.of(blocks);
    rows.push({ atMs: notNegative(fields['timestamp'], i), promptTokens, cachedTokens, outputTokens: tokens(fields['output_length'], i), session, tenant: null });
  });
  return { rows, passedOver: 0 };
}

/** Blocks that were seen lately. */
class PrefixCache {
  readonly #blocks = new Set<number>();

  constructor(private readonly size: number) {}

  /** @returns how many leading blocks were there; all are there afterwards. */
  take(blocks: readonly number[]): number {
    let hits = 0;
    while (hits < blocks.length && this.#blocks.has(blocks[hits]!)) hits++;
    for (const block of blocks) {
      this.#blocks.delete(block);
      this.#blocks.add(block);
    }
    for (const oldest of this.#blocks) {
      if (this.#blocks.size <= this.size) break;
      this.#blocks.delete(oldest);
    }
    return hits;
  }
}

/** A request belongs to the session of the longest beginning that it shares, beyond the first block (a system prompt that many have). */
class Sessions {
  readonly #byBlock = new Map<number, number>();
  #count = 0;

  of(blocks: readonly number[]): number {
    let session = -1;
    for (let i = 1; i < blocks.length; i++) session = this.#byBlock.get(blocks[i]!) ?? session;
    if (session < 0) session = this.#count++;
    for (let i = 1; i < blocks.length; i++) if (!this.#byBlock.has(blocks[i]!)) this.#byBlock.set(blocks[i]!, session);
    return session;
  }
}

function readLedger(lines: readonly string[]): { rows: TraceRow[]; passedOver: number } {
  const rows: TraceRow[] = [];
  const sessions = new Map<string, number>();
  let passedOver = 0;
  lines.forEach((line, i) => {
    if (line.trim() === '') return;
    const event = objectOf(line);
    const unserved = event === null || event['corrects'] === true || event['outcome'] === 'local_reply' || event['startedAtMs'] === undefined;
    if (unserved || event['inputTokens'] === 0) return void passedOver++;
    const promptTokens = tokens(event['inputTokens'], i);
    const { session, tenantId } = event;
    rows.push({
      ...{ atMs: notNegative(event['startedAtMs'], i), promptTokens, cachedTokens: Math.max(0, Math.min(promptTokens - 1, tokens(event['cachedInputTokens'] ?? 0, i))) },
      outputTokens: Math.max(1, tokens(event['outputTokens'], i)),
      session: typeof session === 'string' ? (sessions.get(session) ?? remember(sessions, session)) : null,
      tenant: typeof tenantId === 'string' ? tenantId : null,
    });
  });
  return { rows, passedOver };
}

function remember(sessions: Map<string, number>, name: string): number {
  sessions.set(name, sessions.size);
  return sessions.size - 1;
}

function objectOf(line: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function tokens(given: unknown, line: number): number {
  const value = notNegative(given, line);
  if (value > MAX_TOKENS) throw new TraceError(`line ${line + 1}: more than ${MAX_TOKENS} tokens`);
  return value;
}

function notNegative(given: unknown, line: number): number {
  const value = typeof given === 'string' && given.trim() !== '' ? Number(given) : given;
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) throw new TraceError(`line ${line + 1}: a number that is not negative is needed`);
  return value;
}

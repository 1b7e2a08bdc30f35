import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ResponseReading } from '../../../src/domain/wire.js';
import { TextCounter, type TextFeatures } from '../../../src/lib/text-features.js';

const FIXTURES = new URL('../../../../shared/fixtures/', import.meta.url);

export interface Recording {
  readonly file: string;
  readonly bytes: Buffer;
  /** The totals that it tells; without those that were not checked. */
  readonly expected: Readonly<Record<string, number>>;
  readonly chars: number;
}

interface Entry {
  readonly file: string;
  readonly expect: Readonly<Record<string, unknown>> | undefined;
  readonly content_chars: number;
}

const TOTALS = ['input_total', 'cache_read', 'cache_write', 'output_total', 'reasoning'];

/** Recorded answers whose file's name fits, as server-sent events; none where the folder is missing. */
export function recordings(name: RegExp): Recording[] {
  const manifest = new URL('manifest.json', FIXTURES);
  if (!existsSync(fileURLToPath(manifest))) return [];
  const entries = JSON.parse(readFileSync(manifest, 'utf8')) as Entry[];
  return entries.filter(({ file }) => name.test(file)).map(({ file, expect, content_chars: chars }) => ({ file, chars, bytes: framed(file), expected: checked(expect ?? {}) }));
}

function checked(expected: Readonly<Record<string, unknown>>): Record<string, number> {
  return Object.fromEntries(TOTALS.map((total) => [total, expected[total]]).filter((entry): entry is [string, number] => typeof entry[1] === 'number'));
}

/** `*.chunks.txt` holds one JSON a line. */
function framed(file: string): Buffer {
  const bytes = readFileSync(new URL(file, FIXTURES));
  if (!file.endsWith('.chunks.txt')) return bytes;
  const lines = bytes.toString().trim().split('\n');
  return Buffer.from(lines.map((line) => `data: ${line}\n\n`).join(''));
}

/** What a reading told, in the manifest's words. */
export function totalsOf({ usage }: ResponseReading): Record<string, number | undefined> {
  return { input_total: usage?.inputTokens, cache_read: usage?.cachedInputTokens, cache_write: usage?.cacheWriteTokens, output_total: usage?.outputTokens, reasoning: usage?.reasoningTokens };
}

/** Everything that must not depend on where an answer was cut, as one text. */
export function figuresOf(reading: ResponseReading): string {
  const { responseId, model, serviceTier, lines, sawError, complete, unreadable, outputPieces } = reading;
  return JSON.stringify([totalsOf(reading), [...reading.output], responseId, model, serviceTier, lines, sawError, complete, unreadable, outputPieces]);
}

/** What is counted of these texts, each of which stands apart: a prompt's. */
export function textsOf(...texts: readonly string[]): Readonly<TextFeatures> {
  const counter = new TextCounter();
  for (const text of texts) {
    counter.cut();
    counter.add(text);
  }
  return counter.features;
}

/** What is counted of these pieces of one text: an output's. */
export function countsOf(...texts: readonly string[]): Readonly<TextFeatures> {
  const counter = new TextCounter();
  for (const text of texts) counter.add(text);
  return counter.features;
}

/** Events with their names, as Anthropic's and OpenAI's newer APIs send them. */
export function namedEvents(...parts: readonly object[]): string {
  return parts.map((part) => `${'type' in part && typeof part.type === 'string' ? `event: ${part.type}\n` : ''}data: ${JSON.stringify(part)}\n\n`).join('');
}

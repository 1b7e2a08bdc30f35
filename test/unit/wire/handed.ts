import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const SHARED = new URL('../../../../shared/', import.meta.url);

function read(name: string): Buffer | null {
  const path = fileURLToPath(new URL(name, SHARED));
  return existsSync(path) ? readFileSync(path) : null;
}

export interface Case {
  readonly id: string;
  readonly input: { readonly response_chunks?: string[]; readonly request?: unknown };
  readonly expected: Record<string, number>;
}

/** The handed cases by id; null where the folder is missing. */
export const cases: ReadonlyMap<string, Case> | null = (() => {
  const bytes = read('cases/cases.jsonl');
  if (bytes === null) return null;
  const lines = bytes.toString().trim().split('\n').map((line) => JSON.parse(line) as Case);
  return new Map(lines.map((line) => [line.id, line]));
})();

export interface Fixture {
  readonly file: string;
  readonly bytes: Buffer;
  readonly expect: Record<string, number | null>;
}

const OPENAI_SHAPED = /^(openai-chat|openai-completions|azure-openai|vllm|self-hosted-other|other-openai-compatible)\/|openai-compat/;

/** The recorded answers of the two APIs, as server-sent events; none where the folder is missing. */
export const fixtures: readonly Fixture[] = (() => {
  const manifest = read('fixtures/manifest.json');
  if (manifest === null) return [];
  const entries = JSON.parse(manifest.toString()) as { file: string; expect: Record<string, number | null> }[];
  return entries
    .filter(({ file }) => OPENAI_SHAPED.test(file))
    .map(({ file, expect }) => ({ file, expect, bytes: framed(file, read(`fixtures/${file}`) ?? Buffer.alloc(0)) }));
})();

/** `*.chunks.txt` holds one JSON a line. */
function framed(file: string, bytes: Buffer): Buffer {
  if (!file.endsWith('.chunks.txt')) return bytes;
  const lines = bytes.toString().trim().split('\n');
  return Buffer.from(lines.map((line) => `data: ${line}\n\n`).join(''));
}

/** Ends a test's title where it has to be skipped. */
export const WHERE = cases === null ? ' (skipped: ../shared is missing)' : '';

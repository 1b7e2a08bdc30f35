import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Framing, WireApi } from '../../../src/domain/wire.js';
import { routeOf } from '../../../src/wire/routes.js';

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
  /** The request body that it answers, where that was recorded. */
  readonly request: Buffer | null;
  readonly api: WireApi;
  readonly framing: Framing;
  readonly expect: Readonly<Record<string, unknown>>;
}

interface Entry {
  readonly file: string;
  readonly url: string | null;
  readonly expect: Readonly<Record<string, unknown>>;
}

/** Frames for a decoder, which are no answers of an API. */
const FRAMES = 'aws-eventstream-framing/';

/** Where the manifest names no URL. */
const PATHS: Readonly<Record<string, string>> = {
  anthropic: '/v1/messages',
  'azure-openai': '/openai/deployments/model-router/chat/completions',
  'bedrock-converse': '/model/m/converse-stream',
  'openai-chat': '/v1/chat/completions',
  'openai-completions': '/v1/completions',
  'other-openai-compatible': '/v1/chat/completions',
  'self-hosted-other': '/v1/chat/completions',
};

const entries: readonly Entry[] = (() => {
  const manifest = read('fixtures/manifest.json');
  return manifest === null ? [] : (JSON.parse(manifest.toString()) as Entry[]);
})();

/** The recorded answers of all APIs; none where the folder is missing. */
export const fixtures: readonly Fixture[] = entries
  .filter(({ file }) => !file.startsWith(FRAMES))
  .map((entry) => ({
    file: entry.file,
    bytes: framed(entry.file, bytesOf(entry.file)),
    request: read(`fixtures/${entry.file}.req.json`),
    api: apiOf(entry),
    framing: framingOf(entry.file),
    expect: entry.expect,
  }));

export const frames: readonly { readonly file: string; readonly bytes: Buffer; readonly sound: boolean }[] = entries
  .filter(({ file }) => file.startsWith(FRAMES))
  .map(({ file, expect }) => ({ file, bytes: bytesOf(file), sound: String(expect['framing']).startsWith('ok') }));

function bytesOf(file: string): Buffer {
  const bytes = read(`fixtures/${file}`);
  if (bytes === null) throw new Error(`${file} is in the manifest but not there`);
  return bytes;
}

function apiOf({ file, url }: Entry): WireApi {
  const path = /^https?:\/\/[^/]+(\/.*)$/.exec(url ?? '')?.[1] ?? PATHS[file.split('/')[0] ?? ''] ?? '';
  const route = routeOf('POST', path);
  if (route.kind !== 'metered') throw new Error(`${file}: nothing reads ${path}`);
  return route.api;
}

function framingOf(file: string): Framing {
  if (file.endsWith('.bin')) return 'eventstream';
  if (file.endsWith('.ndjson')) return 'ndjson';
  return file.endsWith('.json') ? 'json' : 'sse';
}

/** `*.chunks.txt` holds one JSON a line. */
function framed(file: string, bytes: Buffer): Buffer {
  if (!file.endsWith('.chunks.txt')) return bytes;
  const lines = bytes.toString().trim().split('\n');
  return Buffer.from(lines.map((line) => `data: ${line}\n\n`).join(''));
}

/** Ends a test's title where it has to be skipped. */
export const WHERE = cases === null ? ' (skipped: ../shared is missing)' : '';

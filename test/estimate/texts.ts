import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { madeText } from './made-texts.js';

/** One text of `sources.json`. `use`: weights are fitted on `fit`; `test` is only measured. */
export interface Text {
  readonly from: string;
  readonly path: string;
  readonly language: string;
  readonly kind: string;
  readonly use: 'fit' | 'test';
  readonly extract: 'text' | 'html' | 'strings' | 'translations';
  readonly sha256: string | null;
}

export interface Sources {
  readonly tokenizers: Readonly<Record<string, string>>;
  readonly packages: Readonly<Record<string, string>>;
  readonly repositories: Readonly<Record<string, { readonly commit: string; readonly licence: string }>>;
  readonly texts: readonly Text[];
}

/** Where downloads are kept; git ignores it. */
const CACHE = join('.cache', 'estimator');

export function sources(): Sources {
  return JSON.parse(readFileSync(join('test', 'estimate', 'sources.json'), 'utf8')) as Sources;
}

/** Folder of an npm package `NAME@VERSION`, fetched where it is not there yet. Nothing of it is run. */
export function packageFolder(id: string): string {
  const folder = join(CACHE, 'packages', id.replace('/', '+'));
  if (existsSync(join(folder, 'package', 'package.json'))) return join(folder, 'package');
  mkdirSync(folder, { recursive: true });
  const file = execFileSync('npm', ['pack', id, '--silent', '--pack-destination', folder], { encoding: 'utf8' }).trim();
  execFileSync('tar', ['xzf', join(folder, file.split('\n').at(-1) ?? ''), '-C', folder]);
  return join(folder, 'package');
}

/** A file of a public repository at a commit: from a clone below `--clones FOLDER` (`OWNER+NAME`), else over the network. */
async function repositoryFile(repository: string, commit: string, path: string, clones: string | null): Promise<Buffer> {
  const cached = join(CACHE, 'files', createHash('sha256').update(`${repository}@${commit}:${path}`).digest('hex'));
  if (existsSync(cached)) return readFileSync(cached);
  const bytes = clones === null ? await download(repository, commit, path) : show(join(clones, repository.replace('/', '+')), commit, path);
  mkdirSync(join(CACHE, 'files'), { recursive: true });
  writeFileSync(cached, bytes);
  return bytes;
}

function show(clone: string, commit: string, path: string): Buffer {
  const folder = existsSync(join(clone, 'repo')) ? join(clone, 'repo') : clone;
  return execFileSync('git', ['-C', folder, 'show', `${commit}:${path}`], { maxBuffer: 2 ** 26 });
}

async function download(repository: string, commit: string, path: string): Promise<Buffer> {
  const response = await fetch(`https://raw.githubusercontent.com/${repository}/${commit}/${path}`).catch((cause: unknown) => {
    throw new Error(`${repository} can't be reached: give a folder that holds a clone of it, ${repository.replace('/', '+')}, by --clones FOLDER`, { cause });
  });
  if (!response.ok) throw new Error(`${repository}: ${path} cannot be had: ${String(response.status)}`);
  return Buffer.from(await response.arrayBuffer());
}

/** The text itself, checked against its hash. */
export async function load(text: Text, { repositories }: Sources, clones: string | null): Promise<string> {
  if (text.from === 'made') return madeText(text.path);
  const commit = repositories[text.from]?.commit;
  const bytes = commit === undefined ? readFileSync(join(packageFolder(text.from), text.path)) : await repositoryFile(text.from, commit, text.path, clones);
  if (createHash('sha256').update(bytes).digest('hex') !== text.sha256) throw new Error(`${text.from}: ${text.path} is not the file that it was`);
  return extracted(bytes.toString('utf8'), text.extract);
}

function extracted(content: string, how: Text['extract']): string {
  if (how === 'text') return content;
  if (how === 'html') return plain(content);
  const strings: string[] = [];
  JSON.parse(content, (key, value: unknown) => {
    if (typeof value === 'string' && (how === 'strings' || key === 'translation')) strings.push(value);
    return value;
  });
  return strings.join('\n');
}

function plain(html: string): string {
  const body = html.slice(html.indexOf('<body')).replace(/<[^>]*>/g, '').replace(/[ \t]*\n\s*/g, '\n').trim();
  return body.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name: string) => ({ amp: '&', lt: '<', gt: '>', quot: '"', nbsp: ' ' })[name] ?? "'");
}

/** Pieces of about `length` characters, spread evenly over a text, at most `count`; no surrogate pair is cut. */
export function windows(text: string, length: number, count: number): string[] {
  const pieces: string[] = [];
  const step = Math.max(length, Math.floor(text.length / count));
  for (let at = 0; at + Math.min(length, 100) <= text.length && pieces.length < count; at += step) pieces.push(text.slice(at, at + length).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, ''));
  return pieces;
}

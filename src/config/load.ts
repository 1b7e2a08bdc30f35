import { open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { compilePolicy } from './compile.js';
import { compileStore } from './compile-store.js';
import type { Config, TlsSettings } from './config.js';
import { MAX_FILE_BYTES } from './defaults.js';
import { sha256Hex } from '../lib/hash.js';
import { checkEntitlements } from './entitlement-checks.js';
import { checkSchema } from './issues.js';
import { outlineOf, type Outline } from './outline.js';
import { NOTHING_OUTSIDE, referencedFiles, type FileContent, type Outside } from './outside.js';
import { pathText, type Finding, type Problem } from './problem.js';
import type { Document, TlsDocument } from './schema.js';
import { checkPools } from './pool-checks.js';
import { poolWarnings } from './pool-warnings.js';
import { adminTokenOf, checkServer } from './server-checks.js';
import { checkStore } from './store-checks.js';
import { checkTenants } from './tenant-checks.js';
import { warningsOf } from './warnings.js';
import { readYaml, type YamlSource } from './yaml-source.js';

export { formatProblems, problemLines, type Problem } from './problem.js';
export type { Config, LogLevel, ServerSettings, TlsSettings } from './config.js';

export type LoadResult =
  | {
      readonly ok: true;
      readonly config: Config;
      readonly warnings: readonly Problem[];
      /** Where something stands in the file. */
      readonly place: (finding: Finding) => Problem;
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

type Env = Outside['env'];

/** Reads and judges a configuration file and the files it names. What is wrong comes back as problems: never throws. */
export async function loadConfig(path: string, env: Env = process.env): Promise<LoadResult> {
  return judgeFile(path, await readBounded(path), env);
}

/** As `loadConfig`, of a file that was read already. */
export async function judgeFile(path: string, content: FileContent, env: Env): Promise<LoadResult> {
  if (!content.ok) return { ok: false, problems: [{ file: path, line: 1, column: 1, path: '', message: `this file ${content.reason}` }] };
  const source = readYaml(content.text);
  const outline = outlineOf(source.raw);
  return judge({ ...source, fingerprint: sha256Hex(content.text) }, outline, path, { env, files: await readReferences(outline, dirname(path)) });
}

/** Judges the text of a configuration. Pure: what it refers to is given in `outside`. */
export function parseConfig(text: string, file: string, outside: Outside = NOTHING_OUTSIDE): LoadResult {
  const source = readYaml(text);
  return judge({ ...source, fingerprint: sha256Hex(text) }, outlineOf(source.raw), file, outside);
}

function judge(source: YamlSource & { readonly fingerprint: string }, outline: Outline, file: string, outside: Outside): LoadResult {
  const { document, findings } = findingsOf(source, outline, outside);
  const place = ({ path, message, at }: Finding): Problem => ({ file, ...source.locate(path, at), path: pathText(path), message });
  const problems = inOrder([...source.problems.map(({ position, message }) => ({ file, ...position, path: '', message })), ...findings.map(place)]);
  if (problems.length > 0 || document === null) return { ok: false, problems };
  const config = { ...compile(document, outside, dirname(file)), fingerprint: source.fingerprint };
  const warnings = [...warningsOf(config, document), ...poolWarnings(config.policy, document)];
  return { ok: true, config, warnings: inOrder(warnings.map(place)), place };
}

function findingsOf(source: YamlSource, outline: Outline, outside: Outside): { document: Document | null; findings: Finding[] } {
  if (source.raw === undefined) return { document: null, findings: [] };
  if (source.raw === null) return { document: null, findings: [{ path: [], message: 'the file is empty: see tokenweir.example.yaml for a start', at: 'value' }] };
  const checked = checkSchema(source.raw);
  const lineOf = (path: Finding['path']): number => source.locate(path, 'value').line;
  const schedule = [...checkPools(outline, lineOf), ...checkEntitlements(outline, lineOf)];
  return { document: checked.document, findings: [...checked.findings, ...checkTenants(outline, lineOf), ...schedule, ...checkServer(outline, outside), ...checkStore(outline, outside)] };
}

/** By place; what an alias repeats (the same field of the same lines) is told once. */
function inOrder(problems: readonly Problem[]): Problem[] {
  const field = (path: string): string => path.slice(path.lastIndexOf('.') + 1);
  const unique = new Map(problems.map((problem) => [`${problem.line}:${problem.column} ${field(problem.path)} ${problem.message}`, problem]));
  return [...unique.values()].sort((a, b) => a.line - b.line || a.column - b.column);
}

function compile(document: Document, outside: Outside, folder: string): Omit<Config, 'fingerprint'> {
  const { server } = document;
  const policy = compilePolicy(document);
  const tls = (files: TlsDocument | null): TlsSettings | null =>
    files === null
      ? null
      : {
          certFile: resolve(folder, files.certFile),
          keyFile: resolve(folder, files.keyFile),
          clientCaFile: files.clientCaFile === null ? null : resolve(folder, files.clientCaFile),
        };
  return {
    policy,
    server: {
      extProc: server.extProc,
      admin: server.admin,
      tls: { extProc: tls(server.tls.extProc), admin: tls(server.tls.admin) },
      drainNoticeMs: server.drain.noticeMs,
      drainTimeoutMs: server.drain.timeoutMs,
      maxBodyBytes: policy.maxBodyBytes,
    },
    store: compileStore(document, outside, folder),
    adminToken: adminTokenOf(document, outside),
    logLevel: document.log.level,
  };
}

async function readReferences(outline: Outline, folder: string): Promise<Map<string, FileContent>> {
  const names = [...new Set(referencedFiles(outline).map(({ file }) => file))];
  return new Map(await Promise.all(names.map(async (name) => [name, await readBounded(resolve(folder, name))] as const)));
}

/** Reads a file of UTF-8 text, but never more than a configuration may have (whatever its size claims to be: it may be a pipe). */
export async function readBounded(path: string): Promise<FileContent> {
  try {
    const file = await open(path, 'r');
    try {
      const chunks: Buffer[] = [];
      let bytes = 0;
      for await (const chunk of file.createReadStream({ autoClose: false, end: MAX_FILE_BYTES }) as AsyncIterable<Buffer>) {
        chunks.push(chunk);
        bytes += chunk.length;
      }
      if (bytes > MAX_FILE_BYTES) return { ok: false, reason: `is too large: more than ${MAX_FILE_BYTES / 1024 ** 2} MiB` };
      return { ok: true, text: new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)) };
    } finally {
      await file.close();
    }
  } catch (error) {
    return { ok: false, reason: readFault(error) };
  }
}

function readFault(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  const known: Record<string, string> = {
    ENOENT: 'does not exist',
    EACCES: 'may not be read by this user',
    EISDIR: 'is a folder',
    ERR_ENCODING_INVALID_ENCODED_DATA: 'is not UTF-8 text',
  };
  return known[code] ?? `cannot be read (${code})`;
}

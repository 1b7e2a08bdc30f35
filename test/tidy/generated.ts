import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listFiles, ROOT } from './sources.js';

export const GENERATED = 'src/extproc/generated';

/** Path below a folder → content. */
export type Tree = ReadonlyMap<string, string>;

/** Runs the generator of `npm run proto`, with the very arguments of package.json, into a folder of its own. */
export function generateAfresh(): Tree {
  const folder = mkdtempSync(join(tmpdir(), 'tokenweir-proto-'));
  try {
    const [tool = '', ...args] = protoCommand();
    const elsewhere = args.map((arg) => (arg === GENERATED ? folder : arg));
    execFileSync(join(ROOT, 'node_modules', '.bin', tool), elsewhere, { cwd: ROOT, stdio: 'pipe' });
    return readTree('.', folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function protoCommand(): string[] {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
  const words = (manifest.scripts['proto'] ?? '').split(/\s+/);
  if (!words.includes(GENERATED)) throw new Error(`the script "proto" of package.json does not write ${GENERATED}`);
  return words;
}

export function readTree(folder: string, root: string = ROOT): Tree {
  const base = folder === '.' ? root : join(root, folder);
  return new Map(listFiles('.', base).map((path) => [path, readFileSync(join(base, path), 'utf8')]));
}

/** Files that only one side has, or that differ. */
export function treeProblems(committed: Tree, fresh: Tree): string[] {
  const paths = [...new Set([...committed.keys(), ...fresh.keys()])].sort();
  return paths.filter((path) => committed.get(path) !== fresh.get(path)).map((path) => `${path}: run npm run proto`);
}

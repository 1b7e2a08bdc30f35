// Node 20 runs no TypeScript: transpiles src/ and a folder of test/ into .cache/, as deep as they lie here, and starts a script of that folder.
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath, URL } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('../../', import.meta.url));
const options = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true };

/** Runs test/FOLDER/SCRIPT.ts with `rest` as its arguments. What it throws as a plain Error is told in a sentence; any other error is one of its own. */
export async function runTranspiled(folder, script, rest) {
  const target = join(root, '.cache', folder, String(process.pid));
  await transpile('src', target);
  await transpile(join('test', folder), target);
  await writeFile(join(target, 'package.json'), '{ "type": "module" }\n');
  process.chdir(root);
  process.argv = [process.argv[0], script, ...rest];
  try {
    await import(join(target, 'test', folder, `${script}.js`));
  } catch (error) {
    if (error?.name !== 'Error') throw error;
    process.stderr.write(`${script}: ${error.message}\n`);
    process.exitCode = 1;
  } finally {
    await rm(target, { recursive: true, force: true });
  }
}

async function transpile(folder, target) {
  for (const entry of await readdir(join(root, folder), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.ts')) continue;
    const path = join(entry.parentPath, entry.name);
    const out = join(target, path.slice(root.length)).replace(/\.ts$/, '.js');
    await mkdir(dirname(out), { recursive: true });
    await writeFile(out, ts.transpileModule(await readFile(path, 'utf8'), { fileName: path, compilerOptions: options }).outputText);
  }
}

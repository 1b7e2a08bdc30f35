// Node 20 runs no TypeScript: transpiles src/, test/sim/ and what they use into .cache/sim/, as deep as they lie here, and starts the script
// named. Usage: node test/sim/run.mjs SCRIPT [options], of a script test/sim/SCRIPT.ts
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath, URL } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('../../', import.meta.url));
const target = join(root, '.cache', 'sim', String(process.pid));
const options = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true };

async function transpile(folder) {
  for (const entry of await readdir(join(root, folder), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.ts')) continue;
    const path = join(entry.parentPath, entry.name);
    const out = join(target, path.slice(root.length)).replace(/\.ts$/, '.js');
    await mkdir(dirname(out), { recursive: true });
    await writeFile(out, ts.transpileModule(await readFile(path, 'utf8'), { fileName: path, compilerOptions: options }).outputText);
  }
}

const [script, ...rest] = process.argv.slice(2);
await transpile('src');
await transpile(join('test', 'sim'));
await writeFile(join(target, 'package.json'), '{ "type": "module" }\n');
process.chdir(root);
process.argv = [process.argv[0], script, ...rest];
try {
  await import(join(target, 'test', 'sim', `${script}.js`));
} catch (error) {
  // What is missing is told in a sentence; any other error is one of the script's own.
  if (error?.name !== 'Error') throw error;
  process.stderr.write(`${script}: ${error.message}\n`);
  process.exitCode = 1;
} finally {
  await rm(target, { recursive: true, force: true });
}

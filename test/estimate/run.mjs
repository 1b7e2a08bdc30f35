// Node 20 runs no TypeScript: transpiles src/ and this folder into .cache/estimate/, as deep as they lie here, and starts the
// script named. Usage: node test/estimate/run.mjs fit|prefill-table|learning-table|hold-out [options]
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath, URL } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('../../', import.meta.url));
const target = join(root, '.cache', 'estimate');
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

await rm(target, { recursive: true, force: true });
await transpile('src');
await transpile(join('test', 'estimate'));
await writeFile(join(target, 'package.json'), '{ "type": "module" }\n');
const [script = 'prefill-table', ...rest] = process.argv.slice(2);
process.chdir(root);
process.argv = [process.argv[0], script, ...rest];
try {
  await import(join(target, 'test', 'estimate', `${script}.js`));
} catch (error) {
  // What is missing is told in a sentence; any other error is one of the script's own.
  if (error?.name !== 'Error') throw error;
  process.stderr.write(`${script}: ${error.message}\n`);
  process.exitCode = 1;
}

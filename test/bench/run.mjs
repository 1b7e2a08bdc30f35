// Node 20 runs no TypeScript: transpiles this folder into .cache/bench/ and starts the bench there. The folder lies as deep as
// this one, so that paths stay right; what the bench needs of the program comes from its build, which is what it measures.
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import process from 'node:process';
import { fileURLToPath, URL } from 'node:url';
import ts from 'typescript';

const source = new URL('./', import.meta.url);
const target = new URL('../../.cache/bench/', import.meta.url);

await rm(target, { recursive: true, force: true });
await mkdir(target, { recursive: true });
for (const name of (await readdir(source, { recursive: true })).filter((file) => file.endsWith('.ts'))) {
  const text = await readFile(new URL(name, source), 'utf8');
  const options = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true };
  const { outputText } = ts.transpileModule(text, { fileName: fileURLToPath(new URL(name, source)), compilerOptions: options });
  const file = new URL(name.replace(/\.ts$/, '.js'), target);
  await mkdir(new URL('./', file), { recursive: true });
  await writeFile(file, outputText.replaceAll(/'((?:\.\.\/)+)src\//g, "'$1dist/"));
}

// The first word chooses between the two benches; what follows are options of that bench.
const micro = process.argv[2] === 'micro';
if (micro) process.argv.splice(2, 1);
await import(new URL(micro ? 'micro.js' : 'main.js', target).href);

import { describe, expect, it } from 'vitest';
import { treeProblems } from './generated.js';
import { cycleProblems, deadFileProblems, ioImportProblems, layerProblems, unresolvedProblems } from './layers.js';
import { parseSource } from './sources.js';
import { fileLengthProblems, functionLengthProblems, impurityProblems, typeEscapeProblems } from './style.js';

const source = parseSource;
const lines = (count: number) => 'f();\n'.repeat(count);

describe('the layer rule', () => {
  it.each([
    ['a lower layer that imports a higher one', 'src/quota/a.ts', '../admission/b.js'],
    ['middle layers that import each other', 'src/wire/a.ts', '../quota/b.js'],
    ['shells that import each other', 'src/admin/a.ts', '../telemetry/b.js'],
    ['a shell that imports the top', 'src/extproc/a.ts', '../app.js'],
    ['lib that knows the domain', 'src/lib/a.ts', '../domain/b.js'],
    ['a source that uses the tests', 'src/demo/a.ts', '../../test/b.js'],
  ])('refuses %s', (_name, path, specifier) => {
    expect(layerProblems([source(path, `import { b } from '${specifier}';`)])).toHaveLength(1);
    expect(layerProblems([source(path, `import type { b } from '${specifier}';`)])).toHaveLength(1);
    expect(layerProblems([source(path, `export * from '${specifier}';`)])).toHaveLength(1);
    expect(layerProblems([source(path, `const b = await import('${specifier}');`)])).toHaveLength(1);
  });

  it.each([
    ['stores that use the arithmetic of quota', 'src/stores/a.ts', '../quota/b.js'],
    ['app that puts shells together', 'src/app.ts', './extproc/b.js'],
    ['a neighbour in the same folder', 'src/wire/a.ts', './b.js'],
  ])('allows %s', (_name, path, specifier) => {
    expect(layerProblems([source(path, `import { b } from '${specifier}';`)])).toEqual([]);
  });

  it('wants every folder in the table', () => {
    expect(layerProblems([source('src/helpers/a.ts', '')])).toEqual([
      'src/helpers/a.ts: the layer helpers is not in the table of layers',
    ]);
  });
});

describe('the rule on I/O', () => {
  it.each(['node:fs', 'node:net', 'fs', '@grpc/grpc-js', 'prom-client', 'pino', 'ioredis'])('refuses %s', (name) => {
    expect(ioImportProblems([source('src/quota/a.ts', `import x from '${name}';`)])).toHaveLength(1);
    expect(ioImportProblems([source('src/stores/a.ts', `import x from '${name}';`)])).toEqual([]);
  });

  it.each([
    'const t = Date.now();',
    'const t = new Date();',
    'const r = Math.random();',
    'const t = performance.now();',
    'setTimeout(f, 1);',
    'const later = setInterval;',
    'await fetch(u);',
    'console.log(1);',
    'const e = process.env.X;',
  ])('refuses %s', (text) => {
    expect(impurityProblems([source('src/admission/a.ts', text)])).toHaveLength(1);
    expect(impurityProblems([source('src/telemetry/a.ts', text)])).toEqual([]);
  });

  it('allows a port, a member of that name, a date of a given time and a comment', () => {
    const text = '// Date.now\nport.fetch(u); const o = { process: 1 }; new Date(5); clock.nowMs();';
    expect(impurityProblems([source('src/admission/a.ts', text)])).toEqual([]);
  });
});

describe('the rules on the graph of files', () => {
  const a = source('src/lib/a.ts', `import { b } from './b.js';`);
  const b = source('src/lib/b.ts', `import type { c } from './c.js';`);
  const c = source('src/lib/c.ts', `export { a } from './a.js';`);

  it('see a cycle', () => {
    expect(cycleProblems([a, b, c])).toEqual(['src/lib/a.ts → src/lib/b.ts → src/lib/c.ts → src/lib/a.ts']);
    expect(cycleProblems([a, b])).toEqual([]);
  });

  it('see a dead file and an entry that is gone', () => {
    const alone = source('src/lib/alone.ts', '');
    expect(deadFileProblems([a, b, alone], ['src/lib/a.ts', 'src/gone.ts'])).toEqual([
      'src/lib/alone.ts: no entry reaches it',
      'src/gone.ts: no such entry',
    ]);
    expect(deadFileProblems([a, b], ['src/lib/a.ts'])).toEqual([]);
  });

  it('see an import of nothing', () => {
    expect(unresolvedProblems([a])).toEqual(['src/lib/a.ts: imports src/lib/b.ts, which is not there']);
  });
});

describe('the rules on length', () => {
  it('count the lines of a file', () => {
    expect(fileLengthProblems([source('src/lib/a.ts', lines(400))])).toEqual([]);
    expect(fileLengthProblems([source('src/lib/a.ts', lines(401))])).toHaveLength(1);
  });

  it.each([
    ['function', (body: string) => `function g() {\n${body}}`],
    ['arrow', (body: string) => `const g = () => {\n${body}};`],
    ['method', (body: string) => `class C { g() {\n${body}} }`],
    ['constructor', (body: string) => `class C { constructor() {\n${body}} }`],
  ])('count the lines of a %s', (_kind, wrap) => {
    expect(functionLengthProblems([source('src/lib/a.ts', wrap(lines(68)))])).toEqual([]);
    expect(functionLengthProblems([source('src/lib/a.ts', wrap(lines(69)))])).toHaveLength(1);
  });
});

describe('the rule on types', () => {
  it.each(['let a: any;', 'f(x as any);', '// @ts-ignore\nf();', '// @ts-expect-error\nf();', '// @ts-nocheck'])(
    'refuses %s',
    (text) => {
      expect(typeEscapeProblems([source('src/lib/a.ts', text)])).toHaveLength(1);
    },
  );

  it('does not mind the word in a sentence', () => {
    expect(typeEscapeProblems([source('src/lib/a.ts', '// any lane will do\nconst any = 1;')])).toEqual([]);
  });
});

describe('the rule on generated files', () => {
  it('sees a changed, a missing and a left-over file', () => {
    const committed = new Map([['a.ts', '1'], ['b.ts', '1'], ['old.ts', '1']]);
    const fresh = new Map([['a.ts', '1'], ['b.ts', '2'], ['new.ts', '1']]);
    expect(treeProblems(committed, fresh)).toEqual(
      ['b.ts', 'new.ts', 'old.ts'].map((path) => `${path}: run npm run proto`),
    );
  });
});

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** The repository's root. */
export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** What the rules look at: one TypeScript file, with its path from the root (`src/lib/clock.ts`). */
export interface Source {
  readonly path: string;
  readonly text: string;
  readonly ast: ts.SourceFile;
  /** Module specifiers as written, of imports, re-exports and `import()`. */
  readonly imports: readonly string[];
}

/** Paths of all files below a folder, from the root, sorted, with forward slashes. */
export function listFiles(folder: string, root: string = ROOT): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort();
}

/** The project's own sources; generated ones are judged by a rule of their own. */
export function loadSources(): Source[] {
  return listFiles('src')
    .filter((path) => path.endsWith('.ts') && !isGenerated(path))
    .map((path) => parseSource(path, readFileSync(join(ROOT, path), 'utf8')));
}

export function isGenerated(path: string): boolean {
  return path.includes('/generated/');
}

export function parseSource(path: string, text: string): Source {
  const ast = ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true);
  const imports: string[] = [];
  visit(ast, (node) => {
    const specifier = specifierOf(node);
    if (specifier !== undefined && ts.isStringLiteralLike(specifier)) imports.push(specifier.text);
  });
  return { path, text, ast, imports };
}

function specifierOf(node: ts.Node): ts.Node | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier;
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) return node.arguments[0];
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) return node.argument.literal;
  return undefined;
}

/** Calls `fn` on a node and everything below it. */
export function visit(node: ts.Node, fn: (node: ts.Node) => void): void {
  fn(node);
  ts.forEachChild(node, (child) => {
    visit(child, fn);
  });
}

/** The files of the project that a file imports (`./x.js` is `x.ts` in the sources). */
export function ownImports(source: Source): string[] {
  return source.imports
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => posix.join(posix.dirname(source.path), specifier).replace(/\.js$/, '.ts'));
}

/** The packages and `node:` modules that a file imports. */
export function foreignImports(source: Source): string[] {
  return source.imports.filter((specifier) => !specifier.startsWith('.'));
}

/** `src/lib/clock.ts:12`, for messages that an editor can follow. */
export function at(source: Source, node: ts.Node): string {
  const { line } = source.ast.getLineAndCharacterOfPosition(node.getStart(source.ast));
  return `${source.path}:${line + 1}`;
}

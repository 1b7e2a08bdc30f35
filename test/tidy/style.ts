import ts from 'typescript';
import { isPure } from './layers.js';
import { at, visit, type Source } from './sources.js';

export const MAX_FILE_LINES = 400;
export const MAX_FUNCTION_LINES = 70;

/** Names that read the time, chance or the world when they are used as `a.b`. */
const IMPURE_MEMBERS: ReadonlySet<string> = new Set([
  'Date.now',
  'Math.random',
  'performance.now',
  'crypto.randomUUID',
  'crypto.randomBytes',
  'crypto.getRandomValues',
]);

/** Names that do so wherever they stand alone. */
const IMPURE_NAMES: ReadonlySet<string> = new Set([
  'setTimeout',
  'setInterval',
  'setImmediate',
  'fetch',
  'console',
  'process',
  'randomUUID',
  'randomBytes',
]);

/** Time, chance and I/O come through a port in the layers below the shells. */
export function impurityProblems(sources: readonly Source[]): string[] {
  return sources.filter(isPure).flatMap((source) => {
    const problems: string[] = [];
    visit(source.ast, (node) => {
      const name = impureUse(node);
      if (name !== null) problems.push(`${at(source, node)}: ${name} does not belong here`);
    });
    return problems;
  });
}

function impureUse(node: ts.Node): string | null {
  if (ts.isPropertyAccessExpression(node)) {
    const name = `${node.expression.getText()}.${node.name.text}`;
    return IMPURE_MEMBERS.has(name) ? name : null;
  }
  if (ts.isNewExpression(node) && node.expression.getText() === 'Date' && !node.arguments?.length) return 'new Date()';
  if (ts.isIdentifier(node) && IMPURE_NAMES.has(node.text) && isReference(node)) return node.text;
  return null;
}

/** Not the name of a member, so that `port.fetch()` and `{ process: … }` are allowed. */
function isReference(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent) || ts.isQualifiedName(parent)) return parent.getStart() === node.getStart();
  const namesMember =
    ts.isPropertyAssignment(parent) ||
    ts.isPropertySignature(parent) ||
    ts.isPropertyDeclaration(parent) ||
    ts.isMethodSignature(parent) ||
    ts.isMethodDeclaration(parent);
  return !(namesMember && parent.name === node);
}

export function fileLengthProblems(sources: readonly Source[]): string[] {
  return sources
    .map((source) => ({ path: source.path, lines: source.text.replace(/\n$/, '').split('\n').length }))
    .filter(({ lines }) => lines > MAX_FILE_LINES)
    .map(({ path, lines }) => `${path}: ${lines} lines, allowed ${MAX_FILE_LINES}`);
}

/** Functions of every kind, from their first line of code (comments before it are free) to their last. */
export function functionLengthProblems(sources: readonly Source[]): string[] {
  return sources.flatMap((source) => {
    const problems: string[] = [];
    visit(source.ast, (node) => {
      if (!ts.isFunctionLike(node) || !('body' in node) || node.body === undefined) return;
      const lines = lineOf(source, node.getEnd()) - lineOf(source, node.getStart(source.ast)) + 1;
      if (lines > MAX_FUNCTION_LINES) problems.push(`${at(source, node)}: ${lines} lines, allowed ${MAX_FUNCTION_LINES}`);
    });
    return problems;
  });
}

function lineOf(source: Source, position: number): number {
  return source.ast.getLineAndCharacterOfPosition(position).line;
}

/** `any` and the comments that switch the compiler off. */
export function typeEscapeProblems(sources: readonly Source[]): string[] {
  return sources.flatMap((source) => {
    const problems: string[] = [];
    visit(source.ast, (node) => {
      if (node.kind === ts.SyntaxKind.AnyKeyword) problems.push(`${at(source, node)}: any`);
    });
    for (const match of source.text.matchAll(/@ts-(ignore|nocheck|expect-error)/g)) {
      problems.push(`${source.path}:${lineOf(source, match.index) + 1}: ${match[0]}`);
    }
    return problems;
  });
}

import { Composer, isAlias, isMap, isScalar, isSeq, Lexer, LineCounter, Parser, visit, type CST, type Document, type Node, type YAMLError } from 'yaml';
import { MAX_ALIASES, MAX_DEPTH } from './defaults.js';
import type { Path } from './problem.js';

/** Counted from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A parsed file: its values, and where they stand. */
export interface YamlSource {
  /** What zod gets; undefined where the file could not be read as YAML at all. */
  readonly raw: unknown;
  readonly problems: readonly { readonly position: Position; readonly message: string }[];
  /** Where the key or the value of a path stands. A path that does not exist stands where its parent does. */
  readonly locate: (path: Path, at: 'key' | 'value') => Position;
}

const START: Position = { line: 1, column: 1 };

/** Reads YAML. Never throws: whatever is wrong with it comes back as problems with their places. */
export function readYaml(text: string): YamlSource {
  const lines = new LineCounter();
  const position = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const { tokens, tooDeepAt } = tokensOf(text, lines);
  if (tooDeepAt !== null) return unreadable(position(tooDeepAt), `is nested more than ${MAX_DEPTH} levels deep`);
  const [doc, second] = new Composer({ prettyErrors: false }).compose(tokens, true, text.length);
  if (doc === undefined) return unreadable(START, 'cannot be read as YAML');
  if (second !== undefined) return unreadable(position(second.range[0]), 'a second document starts here: only one is allowed');
  return readDocument(doc, position);
}

function unreadable(position: Position, message: string): YamlSource {
  return { raw: undefined, problems: [{ position, message }], locate: () => position };
}

/** Parses only as deep as is allowed: the composer recurses, so that unbounded nesting would end the process. */
function tokensOf(text: string, lines: LineCounter): { tokens: CST.Token[]; tooDeepAt: number | null } {
  const parser = new Parser(lines.addNewLine);
  const tokens: CST.Token[] = [];
  lines.addNewLine(0);
  for (const lexeme of new Lexer().lex(text)) {
    tokens.push(...parser.next(lexeme));
    if (parser.stack.length > MAX_DEPTH) return { tokens, tooDeepAt: parser.offset };
  }
  tokens.push(...parser.end());
  return { tokens, tooDeepAt: null };
}

function readDocument(doc: Document.Parsed, position: (offset: number) => Position): YamlSource {
  const faults = [...doc.errors, ...doc.warnings];
  const problems = faults.map((error) => ({ position: position(error.pos[0]), message: messageOf(error) }));
  const locate: YamlSource['locate'] = (path, at) => position(offsetOf(doc, path, at));
  // Values of a file with broken syntax are guesses; a repeated key leaves all the others as they are meant.
  if (faults.some((error) => error.code !== 'DUPLICATE_KEY')) return { raw: undefined, problems, locate };
  try {
    return { raw: doc.toJS({ maxAliasCount: MAX_ALIASES }), problems, locate };
  } catch {
    const message = 'aliases repeat too much, or contain themselves';
    return { raw: undefined, problems: [...problems, { position: position(lastAlias(doc)), message }], locate };
  }
}

/** The parser's message without what it quotes from the file: that may be a secret. */
function messageOf(error: YAMLError): string {
  if (error.code === 'DUPLICATE_KEY') return 'this key stands here twice';
  return `not valid YAML: ${error.message.replace(/: .*$/s, '')}`;
}

function lastAlias(doc: Document): number {
  let offset = 0;
  visit(doc, {
    Alias: (_, node) => {
      offset = node.range?.[0] ?? offset;
    },
  });
  return offset;
}

function offsetOf(doc: Document, path: Path, at: 'key' | 'value'): number {
  let node: unknown = doc.contents;
  let key: unknown = null;
  for (const part of path) {
    const target: unknown = isAlias(node) ? node.resolve(doc) : node;
    const step = stepInto(target, part);
    if (step === null) return startOf(key) ?? startOf(target) ?? 0;
    ({ key, node } = step);
  }
  return (at === 'key' || isEmpty(node) ? startOf(key) : null) ?? startOf(node) ?? 0;
}

function stepInto(node: unknown, part: string | number): { key: unknown; node: unknown } | null {
  if (isSeq(node) && typeof part === 'number' && part < node.items.length) return { key: null, node: node.items[part] };
  if (!isMap(node)) return null;
  const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value ?? '') === String(part));
  return pair === undefined ? null : { key: pair.key, node: pair.value };
}

function startOf(node: unknown): number | null {
  return (node as Node | null)?.range?.[0] ?? null;
}

function isEmpty(node: unknown): boolean {
  return node === null || (isScalar(node) && node.value === null && node.range?.[0] === node.range?.[1]);
}

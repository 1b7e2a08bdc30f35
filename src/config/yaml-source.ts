import { Composer, isAlias, isMap, isScalar, isSeq, Lexer, LineCounter, Parser, visit, type CST, type Document, type Node, type Pair, type YAMLError, type YAMLMap } from 'yaml';
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
  const [doc, second] = new Composer({ prettyErrors: false, uniqueKeys: false }).compose(tokens, true, text.length);
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
  const faults = [...doc.errors, ...doc.warnings].map((error) => ({ position: position(error.pos[0]), message: messageOf(error) }));
  // Values of a file with broken syntax are guesses; a repeated key leaves all the others as they are meant.
  if (faults.length > 0) return { raw: undefined, problems: faults, locate: () => START };
  const repeated = repeatedKeys(doc).map((offset) => ({ position: position(offset), message: 'this key stands here twice' }));
  const offsetOf = offsetFinder(doc);
  const locate: YamlSource['locate'] = (path, at) => position(offsetOf(path, at));
  try {
    return { raw: doc.toJS({ maxAliasCount: MAX_ALIASES }), problems: repeated, locate };
  } catch {
    const message = 'aliases repeat too much, or contain themselves';
    return { raw: undefined, problems: [...repeated, { position: position(lastAlias(doc)), message }], locate };
  }
}

/** The parser's message without what it quotes from the file: that may be a secret. */
function messageOf(error: YAMLError): string {
  return `not valid YAML: ${error.message.replace(/: .*$/s, '')}`;
}

/** Where keys stand that their mapping has already. (The parser's own check takes time by the square of the keys.) */
function repeatedKeys(doc: Document): number[] {
  const offsets: number[] = [];
  visit(doc, {
    Map: (_, map) => {
      const seen = new Set<string>();
      for (const { key } of map.items) {
        const name = keyText(key);
        if (seen.has(name)) offsets.push(startOf(key) ?? 0);
        seen.add(name);
      }
    },
  });
  return offsets;
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

/** Finds where paths stand; mappings are indexed once, so that many problems in a large file stay cheap. */
function offsetFinder(doc: Document): (path: Path, at: 'key' | 'value') => number {
  const indexes = new Map<YAMLMap, Map<string, Pair>>();
  const pairIn = (map: YAMLMap, part: string | number): Pair | undefined => {
    const index = indexes.get(map) ?? new Map(map.items.map((pair) => [keyText(pair.key), pair]));
    indexes.set(map, index);
    return index.get(String(part));
  };
  return (path, at) => {
    let node: unknown = doc.contents;
    let key: unknown = null;
    for (const part of path) {
      const target: unknown = isAlias(node) ? node.resolve(doc) : node;
      const pair = isMap(target) ? pairIn(target, part) : undefined;
      if (pair !== undefined) [key, node] = [pair.key, pair.value];
      else if (isSeq(target) && typeof part === 'number' && part < target.items.length) [key, node] = [null, target.items[part]];
      else return startOf(key) ?? startOf(target) ?? 0;
    }
    return (at === 'key' || isEmpty(node) ? startOf(key) : null) ?? startOf(node) ?? 0;
  };
}

function keyText(key: unknown): string {
  return isScalar(key) ? String(key.value ?? '') : String(key);
}

function startOf(node: unknown): number | null {
  return (node as Node | null)?.range?.[0] ?? null;
}

function isEmpty(node: unknown): boolean {
  return node === null || (isScalar(node) && node.value === null && node.range?.[0] === node.range?.[1]);
}

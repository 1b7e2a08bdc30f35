import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { packageFolder, type Sources } from './texts.js';

/** Exact counts, by tokenizer. */
export type Count = (text: string) => number;

const COUNTS = join('.cache', 'estimator', 'counts.json');

interface GptTokenizer {
  encode(text: string, options: { disallowedSpecial: Set<string> }): number[];
  setMergeCacheSize(size: number): void;
}

interface Loader {
  TokenizerLoader: { fromPreTrained(parts: { tokenizerJSON: unknown; tokenizerConfig: unknown }): { encode(text: string, options: { add_special_tokens: boolean }): number[] } };
}

/** Counts of all tokenizers of `sources.json`; what was counted once is kept in a file. */
export class Tokenizers {
  readonly #known: Record<string, number> = existsSync(COUNTS) ? (JSON.parse(readFileSync(COUNTS, 'utf8')) as Record<string, number>) : {};
  readonly #counters = new Map<string, Count>();

  constructor(private readonly sources: Sources) {}

  async count(tokenizer: string, text: string): Promise<number> {
    const key = createHash('sha256').update(`${this.sources.tokenizers[tokenizer] ?? ''} ${text}`).digest('base64url');
    const known = this.#known[key];
    if (known !== undefined) return known;
    const counter = this.#counters.get(tokenizer) ?? (await this.#load(tokenizer));
    this.#counters.set(tokenizer, counter);
    return (this.#known[key] = counter(text));
  }

  save(): void {
    mkdirSync(dirname(COUNTS), { recursive: true });
    writeFileSync(COUNTS, JSON.stringify(this.#known));
  }

  async #load(tokenizer: string): Promise<Count> {
    const folder = packageFolder(this.sources.tokenizers[tokenizer]!);
    if (tokenizer === 'o200k') {
      const gpt = (await imported(join(folder, 'esm', 'encoding', 'o200k_base.js'))) as GptTokenizer;
      gpt.setMergeCacheSize(0);
      return (text) => gpt.encode(text, { disallowedSpecial: new Set() }).length;
    }
    const { TokenizerLoader } = (await imported(join(packageFolder(this.sources.tokenizers['loader']!), 'dist', 'main.mjs'))) as Loader;
    const json = (name: string): unknown => JSON.parse(readFileSync(join(folder, 'models', name), 'utf8'));
    const loaded = TokenizerLoader.fromPreTrained({ tokenizerJSON: json('tokenizer.json'), tokenizerConfig: json('tokenizer_config.json') });
    return (text) => loaded.encode(text, { add_special_tokens: false }).length;
  }
}

async function imported(path: string): Promise<unknown> {
  return import(pathToFileURL(resolve(path)).href);
}

// Fits the weights of src/estimate/text-weights.ts on the public texts of sources.json and prints the errors on those that it
// held out. Usage: npm run fit-estimator [-- --clones FOLDER] (FOLDER holds git clones of the repositories, OWNER+NAME)
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TEXT_FEATURES, TextCounter } from '../../src/lib/text-features.js';
import { fitWeights, type Row } from './least-squares.js';
import { quantile } from './measures.js';
import { load, sources, windows, type Text } from './texts.js';
import { Tokenizers } from './tokenizers.js';

/** What a feature costs where the texts say nothing, about two bytes of UTF-8 a token: rare scripts must not be free. */
const PRIOR: Readonly<Partial<Record<(typeof TEXT_FEATURES)[number], number>>> = {
  words: 1, gluedWords: 0.9, capitals: 0.1, humps: 0.9, upper: 0.4, letters5to8: 0.1, letters9to14: 0.2, lettersPast14: 0.2, latin1: 0.4, latinExtended: 0.6,
  latinAdditional: 0.6, digitRuns: 0.2, digitGroups: 0.6, digits: 0.2, digitsAfterBlank: 0.6, mixed: 0.7, marks: 0.9, marksMore: 0.4, marksSame: 0.1,
  lines: 0.9, linesAfterMarks: 0.4, linesMore: 0.1, indents: 0.7, gaps: 0.7, blanks: 0.02, cyrillic: 0.3, cyrillicExtended: 0.5, cyrillicWords: 0.3, arabicExtended: 0.7, hardLetters: 0.1, rareLetters: 1.2, scriptWords: 0.3,
  emoji: 1, symbols: 1, typography: 0.9, wide: 0.8, indic: 0.6, thai: 0.6, devanagari: 0.5, hebrew: 0.5, arabic: 0.4, greek: 0.5, hangul: 0.6, kana: 0.6, ideographs: 0.8,
};
const RIDGE = 0.02;
const LONG = { length: 1500, count: 10 };
const SHORT = { length: 220, count: 3 };

const FAMILIES = ['o200k', 'llama', 'qwen', 'gemma', 'deepseek'] as const;

interface Window {
  readonly text: Text;
  readonly counts: Float64Array;
  readonly tokens: Readonly<Record<string, number>>;
}

function featuresOf(text: string): Float64Array {
  const counter = new TextCounter();
  counter.add(text);
  return counter.features;
}

async function allWindows(clones: string | null): Promise<Window[]> {
  const known = sources();
  const tokenizers = new Tokenizers(known);
  const result: Window[] = [];
  for (const text of known.texts) {
    const content = await load(text, known, clones);
    const pieces = [...windows(content, LONG.length, LONG.count), ...windows(content, SHORT.length, SHORT.count)];
    for (const piece of pieces) {
      const tokens: Record<string, number> = {};
      for (const family of FAMILIES) tokens[family] = await tokenizers.count(family, piece);
      result.push({ text, counts: featuresOf(piece), tokens });
    }
  }
  tokenizers.save();
  return result;
}

function weigh(counts: Float64Array, weights: readonly number[]): number {
  return weights.reduce((sum, weight, i) => sum + weight * counts[i]!, 0);
}

/** How much a text counts in the fit: about as much as there is of its kind in real traffic. */
function importance({ language, kind }: Text): number {
  if (kind === 'made') return 1;
  if (kind !== 'prose' && kind !== 'markdown' && kind !== 'messages') return 2;
  if (language === 'en') return 8;
  return /^(de|fr|es|it|pt|pt-br|ru|ja|ko|zh.*|ar|hi|tr|pl|nl|id|vi)$/.test(language) ? 2 : 0.5;
}

function rowsOf(all: readonly Window[], family: string): Row[] {
  return all.map(({ text, counts, tokens }) => ({ counts, tokens: tokens[family]!, importance: importance(text) }));
}

function errors(all: readonly Window[], family: string, weights: readonly number[]): number[] {
  return all.map(({ counts, tokens }) => Math.abs(weigh(counts, weights) / tokens[family]! - 1));
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

function report(all: readonly Window[], family: string, weights: readonly number[]): void {
  const groups = new Map<string, Window[]>();
  for (const one of all) {
    for (const name of ['all', one.text.kind, `${one.text.kind} ${one.text.language}`]) groups.set(name, [...(groups.get(name) ?? []), one]);
  }
  console.log(`\n${family}, texts held out: windows, median, p95, largest`);
  for (const [name, group] of [...groups].sort()) {
    const all = errors(group, family, weights);
    if (process.argv.includes('--all') || !name.includes(' ')) console.log(`  ${name.padEnd(20)} ${String(all.length).padStart(5)}  ${percent(quantile(all, 0.5))}  ${percent(quantile(all, 0.95))}  ${percent(Math.max(...all))}`);
  }
}

function written(fitted: ReadonlyMap<string, readonly number[]>): string {
  const head = [
    `// Written by \`npm run fit-estimator\` (test/estimate/fit.ts): tokens for each of TEXT_FEATURES, by tokenizer family, by least`,
    `// squares on relative error, none below zero, over the public texts of test/estimate/sources.json, counted exactly with`,
    ...FAMILIES.map((family) => `//   ${family}: ${sources().tokenizers[family] ?? ''}`),
    `// Do not edit: change the texts or the script.`,
  ];
  const list = [...fitted].map(([family, weights]) => `  ${family}: {\n${TEXT_FEATURES.map((feature, i) => `    ${feature}: ${String(Number(weights[i]!.toFixed(4)))},`).join('\n')}\n  },`);
  return `${head.join('\n')}\nexport const TEXT_WEIGHTS = {\n${list.join('\n')}\n} as const;\n`;
}

async function main(): Promise<void> {
  const at = process.argv.indexOf('--clones');
  const all = await allWindows(at < 0 ? null : (process.argv[at + 1] ?? null));
  const prior = TEXT_FEATURES.map((feature) => PRIOR[feature] ?? 0.5);
  const fitted = new Map<string, readonly number[]>();
  for (const family of FAMILIES) {
    const weights = fitWeights(rowsOf(all.filter(({ text }) => text.use === 'fit'), family), prior, RIDGE);
    fitted.set(family, weights);
    report(all.filter(({ text }) => text.use === 'test'), family, weights);
  }
  if (!process.argv.includes('--dry')) writeFileSync(join('src', 'estimate', 'text-weights.ts'), written(fitted));
  console.log(`\n${String(all.length)} windows of ${String(sources().texts.length)} texts`);
}

await main();

// Writes held-out.json: counts of the texts that the weights are not fitted on, for the tests of learning. No text is in it.
// Usage: node test/estimate/run.mjs hold-out [--clones FOLDER]
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TextCounter } from '../../src/lib/text-features.js';
import { load, sources, windows } from './texts.js';
import { Tokenizers } from './tokenizers.js';
import type { HeldOut } from './traffic.js';

const TOKENIZERS = ['o200k', 'llama', 'qwen', 'gemma'] as const;

async function heldOut(clones: string | null): Promise<HeldOut[]> {
  const known = sources();
  const tokenizers = new Tokenizers(known);
  const result: HeldOut[] = [];
  for (const text of known.texts.filter(({ use }) => use === 'test')) {
    const content = await load(text, known, clones);
    const half = (parseInt(createHash('sha256').update(`${text.from} ${text.path}`).digest('hex').slice(0, 2), 16) & 1) as 0 | 1;
    const middle = Math.floor(content.length / 2);
    for (const part of [0, 1] as const) {
      const side = part === 0 ? content.slice(0, middle) : content.slice(middle);
      for (const piece of [...windows(side, 4000, 3), ...windows(side, 900, 3)]) {
        const tokens: Record<string, number> = {};
        for (const name of TOKENIZERS) tokens[name] = await tokenizers.count(name, piece);
        const counter = new TextCounter();
        counter.add(piece);
        result.push({ kind: `${text.kind} ${text.language}`, part, half, counts: [...counter.features], tokens });
      }
    }
  }
  tokenizers.save();
  return result;
}

const at = process.argv.indexOf('--clones');
const all = await heldOut(at < 0 ? null : (process.argv[at + 1] ?? null));
writeFileSync(join('test', 'estimate', 'held-out.json'), `[\n${all.map((one) => JSON.stringify(one)).join(',\n')}\n]\n`);

import { AT, LEARNED, offsetOf } from './regressors.js';

/**
 * How far an estimate may be off before anything was learned of a model, nineteen times of twenty, by what the prompt consists of:
 * text by the errors measured on texts that were held out, the rest by what recorded requests showed.
 */
const OF_TEXT = 0.25;
const OF_UNKNOWN_TOKENIZER = 0.4;
const OF_TOOLS = 0.5;
const OF_MEDIA = 0.7;
const OF_REFERENCES = 1;
/** A short prompt is off by some tokens whatever its length. */
const TOKENS = 8;
const MOST = 3;

export function assumedErrorShare(x: Readonly<Float64Array>, weights: Readonly<Float64Array>, knownTokenizer: boolean): number {
  let text = 0;
  let tools = 0;
  for (let i = 0; i < LEARNED; i++) {
    if (i === AT.toolText || i === AT.schema || i === AT.tools || i === AT.hasTools) tools += x[i]! * weights[i]!;
    else text += x[i]! * weights[i]!;
  }
  const total = Math.max(1, text + tools + offsetOf(x));
  const off = TOKENS + text * (knownTokenizer ? OF_TEXT : OF_UNKNOWN_TOKENIZER) + tools * OF_TOOLS + x[AT.media]! * OF_MEDIA + x[AT.references]! * (x[AT.unknown] === 1 ? OF_REFERENCES : OF_TEXT);
  return Math.min(MOST, off / total);
}

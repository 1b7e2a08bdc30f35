import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnthropicAnswer } from '../../src/wire/anthropic/answer.js';
import { GeminiAnswer } from '../../src/wire/gemini/answer.js';
import { InvokeAnswer } from '../../src/wire/bedrock/invoke-answer.js';
import { GenerateAnswer } from '../../src/wire/local/generate.js';
import { LlamaAnswer } from '../../src/wire/local/llama-answer.js';
import { OllamaAnswer } from '../../src/wire/ollama/answer.js';
import { OpenAiAnswer } from '../../src/wire/openai/answer.js';
import { ResponsesAnswer } from '../../src/wire/openai/responses-answer.js';
import type { Answer } from '../../src/wire/stream/answer.js';
import { responseReader } from '../../src/wire/stream/reader.js';
import { chunk, SHAPES } from '../unit/wire/shapes.js';
import { factsOf, readPlainly } from '../unit/wire/plain-reader.js';

const ANSWERS: readonly (readonly [string, () => Answer])[] = [
  ['OpenAI', () => new OpenAiAnswer()],
  ['Responses', () => new ResponsesAnswer()],
  ['Anthropic', () => new AnthropicAnswer()],
  ['Gemini', () => new GeminiAnswer()],
  ['Ollama', () => new OllamaAnswer()],
  ['llama.cpp', () => new LlamaAnswer()],
  ['/generate', () => new GenerateAnswer()],
  ['InvokeModel', () => new InvokeAnswer()],
];

const text = fc.oneof(
  fc.constantFrom('', 'a', ' token', '\n', '"', '\\', '你好', 'é', '😀', 'stop', 'error', 'assistant', 'text_delta', 'response.completed', '\u2028', '\u0000'),
  fc.string({ unit: 'binary', maxLength: 12 }),
);
const number = fc.oneof(fc.nat(3000), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom(-0, 1e21, -1, 0.5));

/** One part like `base`: a string or number in it is another, or it is the same. */
function likeOf(base: string): fc.Arbitrary<string> {
  const strings = base.match(/"(?:[^"\\]|\\.)*"(?!\s*:)/g)?.length ?? 0;
  const numbers = base.match(/(?<=[:[,])-?\d+/g)?.length ?? 0;
  const otherStrings = fc.array(fc.tuple(fc.nat(Math.max(0, strings - 1)), text, fc.boolean()), { maxLength: 3 });
  const otherNumbers = fc.array(fc.tuple(fc.nat(Math.max(0, numbers - 1)), number), { maxLength: 2 });
  return fc.tuple(otherStrings, otherNumbers).map(([changes, figures]) => {
    let at = -1;
    const withStrings = base.replace(/"(?:[^"\\]|\\.)*"(?!\s*:)/g, (old) => {
      at++;
      const change = changes.find(([place]) => place === at);
      return change === undefined ? old : change[2] ? escaped(change[1]) : JSON.stringify(change[1]);
    });
    let place = -1;
    return withStrings.replace(/(?<=[:[,])-?\d+(?=[,}\]])/g, (old) => {
      place++;
      const change = figures.find(([which]) => which === place);
      return change === undefined ? old : String(change[1]);
    });
  });
}

/** As servers write that send ASCII only. */
function escaped(value: string): string {
  return JSON.stringify(value).replace(/[^\x20-\x7e]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** A run of parts of few shapes, as one choice after the other says something. */
const parts = fc
  .array(fc.constantFrom(...SHAPES), { minLength: 1, maxLength: 3 })
  .chain((bases) => fc.array(fc.oneof({ weight: 1, arbitrary: fc.constantFrom(...SHAPES) }, { weight: 9, arbitrary: fc.constantFrom(...bases).chain(likeOf) }), { maxLength: 16 }));

const framed = fc
  .tuple(parts, fc.constantFrom('\n', '\n', '\r\n', '\r'), fc.constantFrom('data: ', 'data:', 'event: x\ndata: ', 'id: 1\ndata: '), fc.boolean())
  .map(([list, end, field, named]) => list.map((part) => `${named ? nameOf(part, end) : ''}${field}${part}${end}${end}`).join(''));

function nameOf(part: string, end: string): string {
  const name = /"type":"([a-z._]+)"/.exec(part)?.[1];
  return name === undefined ? '' : `event: ${name}${end}`;
}

const damage = fc.array(fc.tuple(fc.nat(1_000_000), fc.nat(255)), { maxLength: 2 });

function damaged(bytes: Buffer, changes: readonly (readonly [number, number])[]): Buffer {
  for (const [at, byte] of changes) if (bytes.length > 0) bytes[at % bytes.length] = byte;
  return bytes;
}

const places = fc.array(fc.nat(1_000_000), { maxLength: 12 });

describe.each(ANSWERS)('familiar parts, as %s', (_, answer) => {
  it('of server-sent events: read as if each had been parsed, cut anywhere', () => {
    fc.assert(
      fc.property(framed, damage, places, fc.boolean(), (stream, changes, where, hideUsage) => {
        const bytes = damaged(Buffer.from(stream), changes);
        const reader = responseReader(answer(), { framing: 'sse', hideUsage });
        for (const piece of chunk(bytes, where)) reader.push(piece);
        reader.end();
        expect(factsOf(reader.reading)).toEqual(factsOf(readPlainly(answer(), bytes, 'sse')));
      }),
      { numRuns: 800 },
    );
  });

  it('of lines: read as if each had been parsed, cut anywhere', () => {
    fc.assert(
      fc.property(parts, fc.constantFrom('\n', '\r\n'), damage, places, (list, end, changes, where) => {
        const bytes = damaged(Buffer.from(list.join(end)), changes);
        const reader = responseReader(answer(), { framing: 'ndjson', hideUsage: false });
        for (const piece of chunk(bytes, where)) reader.push(piece);
        reader.end();
        expect(factsOf(reader.reading)).toEqual(factsOf(readPlainly(answer(), bytes, 'ndjson')));
      }),
      { numRuns: 400 },
    );
  });
});

import { describe, expect, it } from 'vitest';
import type { Framing, ResponseReading, WireApi } from '../../src/domain/wire.js';
import { applySplices } from '../../src/wire/json/splice.js';
import { routeOf } from '../../src/wire/routes.js';
import { fixtures } from '../unit/wire/handed.js';
import { PATHS, REQUESTS } from '../unit/wire/requests.js';
import { chunk, SHAPES } from '../unit/wire/shapes.js';

/** Inputs of a run, of answers and of requests together; another seed gives others. */
const RUNS = Number(process.env['TOKENWEIR_FUZZ_RUNS'] ?? 200_000);
const SEED = Number(process.env['TOKENWEIR_FUZZ_SEED'] ?? 1);
const TIMEOUT_MS = 600_000;
/** Longer recordings are taken in parts of this length: many small inputs find more than few large ones. */
const PART_BYTES = 700;

const apis: readonly WireApi[] = PATHS.map((path) => {
  const route = routeOf('POST', path);
  if (route.kind !== 'metered') throw new Error(`nothing reads ${path}`);
  return route.api;
});

const built: readonly Buffer[] = SHAPES.flatMap((shape) => [`data: ${shape}\n\ndata: ${shape}\n\n`, `${shape}\n${shape}\n`, shape, `[${shape},\n${shape}]`]).map((text) => Buffer.from(text));
const recorded: readonly Buffer[] = fixtures.flatMap(({ bytes }) => [0, Math.max(0, bytes.length - PART_BYTES)].map((from) => bytes.subarray(from, from + PART_BYTES)));
const answers = [...built, ...recorded];
const requests = [...REQUESTS.map((request) => Buffer.from(JSON.stringify(request))), ...fixtures.flatMap(({ request }) => (request === null || request.length > 2000 ? [] : [request]))];

type Mutation = (bytes: Buffer, at: number, length: number, byte: number, other: Buffer) => Buffer;
const MUTATIONS: readonly Mutation[] = [
  (bytes, at, _, byte) => Buffer.concat([bytes.subarray(0, at), Buffer.from([byte]), bytes.subarray(at + 1)]),
  (bytes, at, _, byte) => Buffer.concat([bytes.subarray(0, at), Buffer.from([(bytes[at] ?? 0) ^ (1 << (byte % 8))]), bytes.subarray(at + 1)]),
  (bytes, at, length) => Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]),
  (bytes, at, length) => Buffer.concat([bytes.subarray(0, at + length), bytes.subarray(at)]),
  (bytes, at) => bytes.subarray(0, at),
  (bytes, at, _, byte, other) => Buffer.concat([bytes.subarray(0, at), other.subarray((byte * other.length) >> 8)]),
  // Figures and words where others stood.
  (bytes, at, length, byte) => Buffer.concat([bytes.subarray(0, at), Buffer.from(ODD[byte % ODD.length]!), bytes.subarray(at + (length % 4))]),
];
const ODD = ['-1', '1e999', '9007199254740993', '0.5', 'null', 'true', '""', '[]', '{}', '"__proto__":', '\\u0000', '\\ud800', '"', '\\', '\r', '\n\n', '\ufeff', '[[[[[[', '{"usage":{'];

/** Numbers by chance, the same for the same seed (mulberry32). `below`: a whole number from 0 to below that. */
class Chance {
  constructor(private state: number) {}

  below(limit: number): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  }

  of<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!;
  }
}

/** One of `bases`, changed at some places. */
function mutated(bases: readonly Buffer[], chance: Chance): Buffer {
  let bytes = chance.of(bases);
  for (let left = chance.below(5); left > 0; left--) {
    bytes = chance.of(MUTATIONS)(bytes, chance.below(bytes.length + 1), 1 + chance.below(60), chance.below(256), chance.of(bases));
  }
  return bytes;
}

/** Tries many inputs; what breaks something is told, so that it can be tried alone. */
function fuzz(bases: readonly Buffer[], runs: number, attempt: (bytes: Buffer, api: WireApi, chance: Chance) => void): void {
  const chance = new Chance(SEED);
  for (let run = 0; run < runs; run++) {
    const bytes = mutated(bases, chance);
    const api = chance.of(apis);
    try {
      attempt(bytes, api, chance);
    } catch (error) {
      throw new Error(`${api.api}, input ${run}: ${JSON.stringify(bytes.toString('latin1'))}`, { cause: error });
    }
  }
}

function isCount(count: number): boolean {
  return Number.isSafeInteger(count) && count >= 0;
}

/** A figure that is no count; null where all are. */
function wrongCount({ usage, lines, output, outputPieces }: ResponseReading): string | null {
  const wrong = Object.entries(usage ?? {}).find(([, count]) => !isCount(count as number));
  if (wrong !== undefined) return wrong.join(' ');
  if (usage !== null && usage.cachedInputTokens + usage.cacheWriteTokens > usage.inputTokens) return 'more cached than input';
  if (usage !== null && usage.reasoningTokens > usage.outputTokens) return 'more reasoning than output';
  return output.every(isCount) && isCount(outputPieces) && (lines ?? []).every(({ tokens }) => isCount(tokens)) ? null : 'output or lines';
}

const framings: readonly Framing[] = ['sse', 'sse', 'json', 'ndjson', 'eventstream'];

function readAll(api: WireApi, framing: Framing, bytes: Buffer, where: readonly number[]): void {
  const reader = api.responseReader({ framing, hideUsage: false });
  for (const piece of chunk(bytes, where)) if (reader.push(piece) !== piece) throw new Error('passed on other bytes');
  if (reader.end().length > 0) throw new Error('passed on more bytes');
  const wrong = wrongCount(reader.reading);
  if (wrong !== null) throw new Error(wrong);
}

function readHiding(api: WireApi, bytes: Buffer, where: readonly number[]): void {
  const reader = api.responseReader({ framing: 'sse', hideUsage: true });
  const passed = Buffer.concat([...chunk(bytes, where).map((piece) => reader.push(piece)), reader.end()]);
  if (passed.length > bytes.length) throw new Error('passed on more bytes than came');
  if (reader.reading.usage === null && !passed.equals(bytes)) throw new Error('hid something, but no usage came');
}

describe('mutated answers', () => {
  it('never break a reader, count below zero, or pass changed', { timeout: TIMEOUT_MS }, () => {
    fuzz(answers, Math.ceil(RUNS / 2), (bytes, api, chance) => {
      const where = Array.from({ length: chance.below(3) }, () => chance.below(PART_BYTES));
      const framing = chance.of(framings);
      readAll(api, framing, bytes, where);
      if (framing === 'sse') readHiding(api, bytes, where);
    });
  });
});

describe('mutated requests', () => {
  it('never break a parser, or count below zero', { timeout: TIMEOUT_MS }, () => {
    fuzz(requests, Math.floor(RUNS / 2), (bytes, api) => {
      const parsed = api.parseRequest(bytes);
      if (!parsed.ok) {
        if (parsed.fault.message === '') throw new Error('a fault without a word');
        return;
      }
      const { prompt, choices, outputCapTokens } = parsed.facts;
      if (!prompt.text.every(isCount) || !isCount(prompt.tokenIds) || !isCount(choices) || choices < 1) throw new Error('a figure that is no count');
      if (outputCapTokens !== null && !isCount(outputCapTokens)) throw new Error(`output cap ${outputCapTokens}`);
      applySplices(bytes, api.askForUsage(bytes));
    });
  });

  it('are read before they are changed', () => {
    expect(requests.filter((bytes) => !apis.some((api) => api.parseRequest(bytes).ok)).map(String)).toEqual([]);
  });
});

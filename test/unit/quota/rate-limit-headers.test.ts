import { describe, expect, test } from 'vitest';
import { parseResetMs, rateLimitHeaders, tighter } from '../../../src/quota/rate-limit-headers.js';
import { level } from './builders.js';

const lookup = (headers: Record<string, string>) => (name: string) => headers[name];

describe('rate-limit headers', () => {
  test('tell requests and tokens, and the IETF pair', () => {
    const levels = [level('requests', 600, 599, { resetMs: 100 }), level('tokens', 60_000, 48_000, { resetMs: 12_000 })];
    expect(rateLimitHeaders(levels)).toEqual([
      ['x-ratelimit-limit-requests', '600'],
      ['x-ratelimit-remaining-requests', '599'],
      ['x-ratelimit-reset-requests', '1s'],
      ['x-ratelimit-limit-tokens', '60000'],
      ['x-ratelimit-remaining-tokens', '48000'],
      ['x-ratelimit-reset-tokens', '12s'],
      ['ratelimit-policy', '"rpm";q=600;w=60, "tpm";q=60000;w=60;qu="tokens"'],
      ['ratelimit', '"rpm";r=599;t=1, "tpm";r=48000;t=12'],
    ]);
  });

  test('without limits there are none', () => {
    expect(rateLimitHeaders([])).toEqual([]);
  });

  test('input, output and concurrency limits show in the IETF pair', () => {
    const levels = [level('concurrency', 16, 3), level('outputTokens', 800, 10, { resetMs: 1 }), level('inputTokens', 900, 20)];
    expect(rateLimitHeaders(levels)).toEqual([
      [
        'ratelimit-policy',
        '"itpm";q=900;w=60;qu="input-tokens", "otpm";q=800;w=60;qu="output-tokens", "concurrency";q=16;qu="concurrent-requests"',
      ],
      ['ratelimit', '"itpm";r=20;t=0, "otpm";r=10;t=1, "concurrency";r=3'],
    ]);
  });

  test('of several buckets the tightest is told; of equal ones the smaller limit', () => {
    const loose = level('tokens', 60_000, 500);
    const tight = level('tokens', 90_000, 400);
    const equal = level('tokens', 1_000, 400);
    expect(rateLimitHeaders([loose, tight])[0]).toEqual(['x-ratelimit-limit-tokens', '90000']);
    expect(rateLimitHeaders([loose, tight, equal])[0]).toEqual(['x-ratelimit-limit-tokens', '1000']);
  });

  test('debt shows as nothing left', () => {
    const pairs = rateLimitHeaders([level('tokens', 100, -50)]);
    expect(pairs).toContainEqual(['x-ratelimit-remaining-tokens', '0']);
    expect(pairs).toContainEqual(['ratelimit', '"tpm";r=0;t=0']);
  });
});

describe("the tighter of ours and the upstream's", () => {
  const ours = rateLimitHeaders([level('requests', 600, 599), level('tokens', 60_000, 48_000)]);
  const theirs = (remaining: string, rest: Record<string, string> = {}) =>
    lookup({ 'x-ratelimit-limit-tokens': '30000', 'x-ratelimit-remaining-tokens': remaining, 'x-ratelimit-reset-tokens': '6m0s', ...rest });

  test('ours stand where the upstream sends none', () => {
    expect(tighter(ours, lookup({}))).toEqual(ours);
  });

  test('the one with less remaining wins as a whole', () => {
    expect(tighter(ours, theirs('48000'))).toEqual(ours);
    const names = tighter(ours, theirs('47999')).map(([name]) => name);
    expect(names).toEqual([
      'x-ratelimit-limit-requests',
      'x-ratelimit-remaining-requests',
      'x-ratelimit-reset-requests',
      'ratelimit-policy',
      'ratelimit',
    ]);
  });

  test.each([['-1'], [''], ['many'], ['1e3'], ['10, 20'], ['9'.repeat(30)]])('ours win over a malformed remaining %j', (remaining) => {
    expect(tighter(ours, theirs(remaining))).toEqual(ours);
  });

  test('ours win over a triple that is not whole or not sensible', () => {
    expect(tighter(ours, lookup({ 'x-ratelimit-remaining-tokens': '5' }))).toEqual(ours);
    expect(tighter(ours, theirs('0', { 'x-ratelimit-limit-tokens': '0' }))).toEqual(ours);
    expect(tighter(ours, theirs('5', { 'x-ratelimit-reset-tokens': 'soon' }))).toEqual(ours);
  });
});

test.each([
  ['1s', 1_000],
  ['6m0s', 360_000],
  ['120ms', 120],
  ['1h2m3.5s', 3_723_500],
  ['0s', 0],
  ['7.66s', 7_660],
  ['2m59.56s', 179_560],
  ['', null],
  ['12', null],
  ['s', null],
  ['-1s', null],
  ['1s ', null],
  ['1x', null],
])('a reset of %j is %s ms', (text, ms) => {
  expect(parseResetMs(text)).toBe(ms);
});

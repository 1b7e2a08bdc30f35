import { describe, expect, test } from 'vitest';
import { formatProblems, parseConfig } from '../../../src/config/load.js';

function problems(text: string): string[] {
  const result = parseConfig(text, 'c.yaml');
  return result.ok ? [] : formatProblems(result.problems).split('\n');
}

const POOLS = [
  'tenants: [{ id: a }, { id: b }, { id: c }]',
  'pools:',
  '  - { id: p, kind: self-hosted, models: ["x*"], capacity: { tokensPerSecond: 100, kvBytes: 1GiB, slots: 10 }, kvBytesPerToken: 5 }',
  '  - { id: few, kind: self-hosted, models: ["y*"], capacity: { slots: 10 } }',
  '  - { id: q, kind: provider, models: ["z*"], limits: { requestsPerMinute: 600, tokensPerMinute: 6000 } }',
  '  - { id: r, kind: provider, models: ["w*"], limits: { requestsPerMinute: 600 } }',
  'entitlements:',
];

/** Problems of entitlements, which begin at line 8. */
function inEntitlements(...entitlements: readonly string[]): string[] {
  return problems([...POOLS, ...entitlements.map((entitlement) => `  - { ${entitlement} }`)].join('\n'));
}

test('all problems of pools and entitlements come at once, in the order of the file', () => {
  const text = [
    'tenants: [{ id: acme }]',
    'pools:',
    '  - id: chat',
    '    kind: self-hosted',
    '    models: []',
    '    capacity: { slots: 8, kvBytes: 1GB }',
    '  - id: chat',
    '    kind: provder',
    '    models: ["x"]',
    'entitlements:',
    '  - { tenant: acne, pool: chta, class: gold }',
    '  - { tenant: acme, pool: chat, class: guaranteed, baseline: { slots: 9 } }',
  ].join('\n');
  expect(problems(text)).toEqual([
    'c.yaml:5:13 pools[0].models: must have at least 1 entry',
    'c.yaml:6:36 pools[0].capacity.kvBytes: must be a number of bytes, or a size such as 16MiB (B, KiB, MiB, GiB, TiB)',
    'c.yaml:6:36 pools[0].capacity.kvBytes: needs kvBytesPerToken too: without it no request takes any',
    'c.yaml:7:9 pools[1].id: this id is taken by pools[0] (line 3)',
    'c.yaml:8:11 pools[1].kind: must be one of self-hosted, provider (did you mean "provider"?)',
    'c.yaml:11:15 entitlements[0].tenant: no tenant has this id (did you mean "acme"?)',
    'c.yaml:11:27 entitlements[0].pool: no pool has this id (did you mean "chat"?)',
    'c.yaml:11:40 entitlements[0].class: must be one of dedicated, guaranteed, elastic, spot',
    'c.yaml:12:71 entitlements[1].baseline.slots: dedicated and guaranteed baselines of pool "chat" sum to 9 slots: it has 8 (line 6)',
  ]);
});

describe('one problem of a pool, at its place', () => {
  const own = (more: string): string => `pools: [{ id: p, kind: self-hosted, models: ["*"], ${more} }]`;
  const provider = (more: string): string => `pools: [{ id: p, kind: provider, models: ["*"], ${more} }]`;
  test.each([
    ['an id that is none', 'pools: [{ id: "{p}", kind: provider, models: ["*"] }]', '1:15 pools[0].id: must be 1 to 128 letters, digits, ".", "_", "@" or "-", and start with a letter or digit'],
    ['no kind', 'pools: [{ id: p, models: ["*"] }]', '1:9 pools[0].kind: is required'],
    ['no models', 'pools: [{ id: p, kind: provider }]', '1:9 pools[0].models: is required'],
    ['capacity of a provider', provider('capacity: { slots: 1 }'), '1:49 pools[0].capacity: belongs to pools of kind self-hosted: tell what the provider allows with limits'],
    ['KV cache of a provider', provider('kvBytesPerToken: 1'), '1:49 pools[0].kvBytesPerToken: belongs to pools of kind self-hosted'],
    ['limits of own servers', own('limits: { tokensPerMinute: 1 }'), '1:52 pools[0].limits: belongs to pools of kind provider: tell what your servers have with capacity'],
    ['provider of own servers', own('provider: openai'), '1:52 pools[0].provider: belongs to pools of kind provider'],
    ['KV cache that nothing takes', own('capacity: { kvBytes: 1GiB }'), '1:73 pools[0].capacity.kvBytes: needs kvBytesPerToken too: without it no request takes any'],
    ['KV cache, and zero a token', own('capacity: { kvBytes: 1GiB }, kvBytesPerToken: 0'), '1:73 pools[0].capacity.kvBytes: needs kvBytesPerToken too: without it no request takes any'],
    ['a limit of the wrong unit', provider('limits: { tokensPerSecond: 1 }'), '1:59 pools[0].limits.tokensPerSecond: unknown key; known here: requestsPerMinute, tokensPerMinute'],
    ['no capacity at all in a dimension', own('capacity: { slots: 0 }'), '1:71 pools[0].capacity.slots: must be at least 1'],
    ['more bytes than are counted exactly', own('capacity: { kvBytes: 1025TiB }, kvBytesPerToken: 1'), '1:73 pools[0].capacity.kvBytes: must be at least 1 byte and at most 1024TiB'],
    ['a hold that Envoy does not grant', own('hold: { backgroundMs: 3600001 }'), '1:74 pools[0].hold.backgroundMs: must be at most 3600000: Envoy holds a request no longer (max_message_timeout)'],
    ['a weight that is none', own('prefillWeight: much'), '1:67 pools[0].prefillWeight: must be a number'],
    ['a negative weight', own('prefillWeight: -0.1'), '1:67 pools[0].prefillWeight: must be at least 0'],
    ['an endless weight', own('prefillWeight: .inf'), '1:67 pools[0].prefillWeight: must be a number'],
    ['a weight of spot', own('classWeights: { spot: 1 }'), '1:68 pools[0].classWeights.spot: unknown key; known here: dedicated, guaranteed, elastic'],
    ['KV cache by no model', own('kvBytesPerToken: []'), '1:69 pools[0].kvBytesPerToken: must have at least 1 entry'],
    ['KV cache as a mapping', own('kvBytesPerToken: { "x*": 1 }'), '1:69 pools[0].kvBytesPerToken: must be a whole number or a list, not a mapping'],
    ['KV cache of models without a number', own('kvBytesPerToken: [{ models: ["x"] }]'), '1:70 pools[0].kvBytesPerToken[0].bytes: is required'],
  ])('%s', (_, text, expected) => {
    expect(problems(text)).toEqual([`c.yaml:${expected}`]);
  });
});

describe('one problem of an entitlement, at its place', () => {
  test.each([
    ['an unknown tenant', ['tenant: d, pool: p, class: spot'], '8:15 entitlements[0].tenant: no tenant has this id (did you mean "a"?)'],
    ['an unknown pool', ['tenant: a, pool: chat, class: spot'], '8:24 entitlements[0].pool: no pool has this id'],
    ['two of a tenant in a pool', ['tenant: a, pool: p, class: spot', 'tenant: b, pool: p, class: spot', 'tenant: a, pool: p, class: elastic'], '10:15 entitlements[2].tenant: this tenant has an entitlement in this pool already: entitlements[0] (line 8)'],
    ['guaranteed without a baseline', ['tenant: a, pool: p, class: guaranteed'], '8:34 entitlements[0].class: guaranteed needs a baseline: what it is assured of'],
    ['dedicated with an empty baseline', ['tenant: a, pool: p, class: dedicated, baseline: {}'], '8:34 entitlements[0].class: dedicated needs a baseline: what it is assured of'],
    ['spot with a baseline', ['tenant: a, pool: p, class: spot, baseline: { slots: 1 }'], '8:40 entitlements[0].baseline: spot has none: it takes what nobody else wants'],
    ['slots of a provider', ['tenant: a, pool: q, class: guaranteed, baseline: { slots: 1, tokensPerMinute: 1 }'], '8:58 entitlements[0].baseline.slots: is no unit of pool "q" (line 5), which is of kind provider: requestsPerMinute, tokensPerMinute'],
    ['a minute’s units of own servers', ['tenant: a, pool: p, class: elastic, baseline: { tokensPerMinute: 1 }'], '8:55 entitlements[0].baseline.tokensPerMinute: is no unit of pool "p" (line 3), which is of kind self-hosted: tokensPerSecond, kvBytes, slots'],
    ['a dimension that the pool has not told', ['tenant: a, pool: few, class: elastic, baseline: { tokensPerSecond: 1 }'], '8:57 entitlements[0].baseline.tokensPerSecond: pool "few" (line 4) does not tell its capacity.tokensPerSecond'],
    ['a limit that the pool has not told', ['tenant: a, pool: r, class: elastic, baseline: { tokensPerMinute: 1 }'], '8:55 entitlements[0].baseline.tokensPerMinute: pool "r" (line 6) does not tell its limits.tokensPerMinute'],
    ['requests alone that are no tokens', ['tenant: a, pool: r, class: guaranteed, baseline: { requestsPerMinute: 60 }'], '8:56 entitlements[0].baseline: needs tokensPerMinute: requests alone count by their share of the pool’s tokensPerMinute, which is not told or too small'],
    ['a baseline of zero', ['tenant: a, pool: few, class: elastic, baseline: { slots: 0 }'], '8:64 entitlements[0].baseline.slots: must be at least 1'],
    ['a baseline that is no number', ['tenant: a, pool: few, class: guaranteed, baseline: { slots: many }'], '8:67 entitlements[0].baseline.slots: must be a whole number, not text'],
    ['a kind of work', ['tenant: a, pool: p, class: spot, work: batch'], '8:46 entitlements[0].work: must be one of interactive, background'],
    ['who may borrow', ['tenant: a, pool: p, class: elastic, lend: nobody'], '8:49 entitlements[0].lend: must be one of all, spot, none'],
    ['an SLO of nothing', ['tenant: a, pool: p, class: elastic, sloMs: 0'], '8:50 entitlements[0].sloMs: must be at least 1'],
  ])('%s', (_, entitlements, expected) => {
    expect(inEntitlements(...entitlements)).toEqual([`c.yaml:${expected}`]);
  });
});

describe('baselines of tier 0 are at most what the pool has, told once for each dimension where it is passed', () => {
  test.each([
    ['slots', ['slots: 6, tokensPerSecond: 1', 'slots: 4, tokensPerSecond: 1', 'slots: 1, tokensPerSecond: 1'], 'p', '10:65 entitlements[2].baseline.slots: dedicated and guaranteed baselines of pool "p" sum to 11 slots: it has 10 (line 3)'],
    ['KV cache', ['kvBytes: 1GiB', 'kvBytes: 1'], 'p', '9:67 entitlements[1].baseline.kvBytes: dedicated and guaranteed baselines of pool "p" sum to 1073741825 kvBytes: it has 1073741824 (line 3)'],
    ['tokens that follow from slots', ['tokensPerSecond: 60', 'slots: 5'], 'p', '9:46 entitlements[1].baseline: dedicated and guaranteed baselines of pool "p" sum to 110 tokensPerSecond, with the shares that follow from slots: it has 100 (line 3)'],
    ['requests of a provider', ['requestsPerMinute: 600, tokensPerMinute: 1', 'requestsPerMinute: 1, tokensPerMinute: 1'], 'q', '9:77 entitlements[1].baseline.requestsPerMinute: dedicated and guaranteed baselines of pool "q" sum to 601 requestsPerMinute: it has 600 (line 5)'],
    ['tokens of a provider', ['tokensPerMinute: 6000', 'tokensPerMinute: 1'], 'q', '9:75 entitlements[1].baseline.tokensPerMinute: dedicated and guaranteed baselines of pool "q" sum to 6001 tokensPerMinute: it has 6000 (line 5)'],
  ])('%s', (_, baselines, pool, expected) => {
    const ids = ['a', 'b', 'c'];
    expect(inEntitlements(...baselines.map((baseline, i) => `tenant: ${ids[i]}, pool: ${pool}, class: guaranteed, baseline: { ${baseline} }`))).toEqual([`c.yaml:${expected}`]);
  });

  test('all of it may be given away, and elastic baselines do not count', () => {
    const given = inEntitlements(
      'tenant: a, pool: p, class: dedicated, baseline: { slots: 7 }',
      'tenant: b, pool: p, class: guaranteed, baseline: { slots: 3, kvBytes: 1GiB }',
      'tenant: c, pool: p, class: elastic, baseline: { slots: 10, tokensPerSecond: 100 }',
    );
    expect(given).toEqual([]);
  });
});

test('a number that is wrong by itself is told once, not again by everything that depends on it', () => {
  const text = ['tenants: [{ id: a }]', 'pools: [{ id: p, kind: self-hosted, models: ["*"], capacity: { slots: -1 } }]', 'entitlements: [{ tenant: a, pool: p, class: guaranteed, baseline: { slots: 1 } }]'].join('\n');
  expect(problems(text)).toEqual(['c.yaml:2:71 pools[0].capacity.slots: must be at least 1']);
});

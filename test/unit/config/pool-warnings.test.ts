import { describe, expect, test } from 'vitest';
import { loadedWarnings, placedWarnings } from './warned.js';

/** Warnings of these entitlements in one pool of 64 slots; a, b and c can be told by keys, d only shares what its parent a has. */
function inPool(...entitlements: readonly string[]): string[] {
  return withTenants('{ id: a, KEY }, { id: b, KEY }, { id: c, KEY }, { id: d, parent: a, KEY }', '', entitlements);
}

function withTenants(tenants: string, more: string, entitlements: readonly string[]): string[] {
  const capacity = '{ tokensPerSecond: 2400, kvBytes: 40GiB, slots: 64 }';
  const lines = entitlements.map((entitlement) => `  - { pool: p, ${entitlement} }`);
  const pool = `pools: [{ id: p, kind: self-hosted, models: ["*"], capacity: ${capacity}, kvBytesPerToken: 1 }]`;
  return loadedWarnings([`tenants: [${tenants}]`, more, pool, entitlements.length === 0 ? '' : 'entitlements:', ...lines].join('\n'));
}

const LENDER = 'tenant: a, class: guaranteed, baseline: { slots: 16 }';
const WAITS = 'it may wait until they are over. Set preemptible there, or lend: none';

test('a pool that shares alike, and one whose borrowers may all be ended, warn of nothing', () => {
  expect(inPool()).toEqual([]);
  expect(inPool(LENDER, 'tenant: b, class: elastic, baseline: { slots: 8 }, preemptible: true', 'tenant: c, class: spot')).toEqual([]);
});

describe('a tier 0 baseline that is lent to streams nobody may end', () => {
  test('is told, with who holds them', () => {
    expect(inPool(LENDER, 'tenant: b, class: elastic, baseline: { slots: 8 }', 'tenant: c, class: spot, preemptible: false')).toEqual([
      `pool "p": the baseline of "a" is lent to streams that nobody may end, of "b" and "c": ${WAITS}`,
    ]);
  });

  test('also where those who hold them have no entitlement', () => {
    expect(inPool(LENDER, 'tenant: b, class: elastic, baseline: { slots: 8 }, preemptible: true')).toEqual([
      `pool "p": the baseline of "a" is lent to streams that nobody may end, of tenants without an entitlement: ${WAITS}`,
    ]);
  });

  test('not where it is lent to nobody', () => {
    expect(inPool(`${LENDER}, lend: none`, 'tenant: b, class: elastic, baseline: { slots: 8 }')).toEqual([]);
  });

  test('what is lent to spot alone waits for spot alone', () => {
    expect(inPool(`${LENDER}, lend: spot`, 'tenant: b, class: elastic, baseline: { slots: 8 }', 'tenant: c, class: spot')).toEqual([]);
    expect(inPool(`${LENDER}, lend: spot`, 'tenant: b, class: spot, preemptible: false', 'tenant: c, class: spot')).toHaveLength(1);
  });

  test('two that are assured borrow from each other; one alone not from itself', () => {
    const other = 'tenant: b, class: dedicated, baseline: { slots: 16 }';
    expect(inPool(LENDER, other, 'tenant: c, class: spot')).toEqual([`pool "p": the baseline of "a" and "b" is lent to streams that nobody may end, of "a" and "b": ${WAITS}`]);
    expect(inPool(LENDER, 'tenant: c, class: spot')).toEqual([]);
  });

  test('a tenant that no request can be of holds nothing; one made from a template does', () => {
    expect(withTenants('{ id: a, KEY }, { id: unit }, { id: b, parent: unit, KEY }', '', [LENDER, 'tenant: b, class: elastic, baseline: { slots: 8 }, preemptible: true'])).toEqual([]);
    expect(withTenants('{ id: a, KEY }, { id: t, parent: a }, { id: b, KEY }', 'identity: { unknownKey: t }', [LENDER, 'tenant: b, class: elastic, baseline: { slots: 8 }, preemptible: true'])).toEqual([]);
    expect(withTenants('{ id: a, KEY }, { id: t }, { id: b, KEY }', 'identity: { unknownKey: t }', [LENDER, 'tenant: b, class: elastic, baseline: { slots: 8 }, preemptible: true'])).toHaveLength(2);
    const spot = 'tenant: t, class: spot';
    expect(withTenants('{ id: a, KEY }, { id: t }', 'identity: { unknownKey: t }', [LENDER, spot])).toEqual([]);
  });

  test('many names are cut', () => {
    const ids = ['b', 'c', 'e', 'f', 'g'];
    const tenants = ['a', ...ids].map((id) => `{ id: ${id}, KEY }`).join(', ');
    expect(withTenants(tenants, '', [LENDER, ...ids.map((id) => `tenant: ${id}, class: elastic, baseline: { slots: 1 }`)])).toEqual([
      `pool "p": the baseline of "a" is lent to streams that nobody may end, of "b", "c", "e" and 2 more: ${WAITS}`,
    ]);
  });
});

describe('what does nothing, or not what it seems to', () => {
  const spare = 'tenant: c, class: spot';
  test.each([
    ['elastic without a rate', ['tenant: b, class: elastic', spare], '"b" is elastic without baseline.tokensPerSecond: what it misses is not paid back'],
    ['assured of no slots', ['tenant: a, class: guaranteed, baseline: { tokensPerSecond: 5 }, lend: all', spare], '"a" is assured of no slots: its requests may take all of them, those of other baselines too'],
    ['nothing to lend', ['tenant: b, class: elastic, baseline: { tokensPerSecond: 5 }, lend: none', spare], '"b" has no slots or kvBytes in its baseline: lend keeps nothing for it'],
    ['spot with an SLO', ['tenant: c, class: spot, sloMs: 500'], '"c" is spot, which never waits: sloMs does nothing'],
  ])('%s', (_, entitlements, expected) => {
    expect(inPool(...entitlements)).toEqual([`pool "p": ${expected}`]);
  });

  test('a template for unknown keys without an entitlement, where who has none shares alike', () => {
    const of = (tenants: string, ...entitlements: readonly string[]): string[] => withTenants(`${tenants}, { id: c, KEY }`, 'identity: { unknownKey: t }', entitlements);
    const warned = ['pool "p": each tenant made from "t" has a fair share of its own, and who invents keys has many: an entitlement of "t" is shared by all of them'];
    expect(of('{ id: t }')).toEqual(warned);
    expect(of('{ id: t }', 'tenant: c, class: elastic, baseline: { tokensPerSecond: 5 }')).toEqual(warned);
    expect(of('{ id: t }', 'tenant: t, class: elastic, baseline: { tokensPerSecond: 5 }')).toEqual([]);
    expect(of('{ id: u }, { id: t, parent: u }', 'tenant: u, class: elastic, baseline: { tokensPerSecond: 5 }')).toEqual([]);
    // Who has none is spot then.
    expect(of('{ id: t }', 'tenant: c, class: spot')).toEqual([]);
  });

  test('elastic baselines that can’t all be met, for each dimension', () => {
    expect(inPool('tenant: a, class: guaranteed, baseline: { slots: 32 }, lend: none', 'tenant: b, class: elastic, baseline: { slots: 33, tokensPerSecond: 1 }')).toEqual([
      'pool "p": all baselines, those of elastic tenants with them, are more than its slots: elastic ones can’t all be met',
    ]);
    expect(inPool('tenant: a, class: guaranteed, baseline: { slots: 32 }, lend: none', 'tenant: b, class: elastic, baseline: { slots: 32 }')).toEqual([]);
  });

  test('baselines that are kept from others, and leave them nothing', () => {
    const keeps = (slots: number): string => `tenant: a, class: guaranteed, baseline: { slots: ${slots} }, lend: spot`;
    expect(inPool(keeps(32), 'tenant: b, class: dedicated, baseline: { slots: 32 }, lend: none', 'tenant: c, class: spot')).toEqual([
      'pool "p": baselines that are not lent to all take all its slots: of others, and beyond a baseline, no request will ever fit',
    ]);
    expect(inPool(keeps(31), 'tenant: b, class: dedicated, baseline: { slots: 32 }, lend: none', 'tenant: c, class: spot')).toEqual([]);
  });

  test('a pool of nothing that is bounded', () => {
    const of = (pool: string): string[] => loadedWarnings(`tenants: [{ id: a, KEY }]\npools: [{ id: p, models: ["*"], ${pool} }]`);
    expect(of('kind: self-hosted')).toEqual(['pool "p" has no capacity: nothing ever waits there, and nobody goes first']);
    expect(of('kind: provider, limits: {}')).toEqual(['pool "p" has no limits: nothing ever waits there, and nobody goes first']);
  });
});

test('each warning tells its place: file, line, column and field', () => {
  const text = `tenants: [{ id: a, KEY }, { id: b, KEY }, { id: nobody }]
pools:
  - id: p
    kind: self-hosted
    models: ["m*", "mm"]
    capacity: { tokensPerSecond: 100,
      slots: 8 }
  - { id: q, kind: self-hosted, models: ["x", "mx"], capacity: {} }
entitlements:
  - { tenant: a, pool: q, class: spot }
  - { tenant: b, pool: p, class: elastic, baseline: { slots: 4 } }
  - tenant: a
    pool: p
    class: guaranteed
    baseline:
      slots: 5
  - { tenant: b, pool: q, class: elastic, lend: none }
`;
  expect(placedWarnings(text)).toEqual([
    expect.stringMatching(/^c\.yaml:1:\d+ tenants\[2\]\.id: no key, token or header leads to tenant "nobody"$/),
    expect.stringMatching(/^c\.yaml:6:34 pools\[0\]\.capacity\.tokensPerSecond: /),
    'c.yaml:7:14 pools[0].capacity.slots: pool "p": all baselines, those of elastic tenants with them, are more than its slots: elastic ones can’t all be met',
    'c.yaml:8:47 pools[1].models[1]: pool "q": its models "mx" all go to pool "p", which stands before it',
    'c.yaml:8:64 pools[1].capacity: pool "q" has no capacity: nothing ever waits there, and nobody goes first',
    expect.stringMatching(/^c\.yaml:11:5 entitlements\[1\]\.preemptible: pool "p": the baseline of "a" is lent to streams that nobody may end, of "b": /),
    'c.yaml:17:49 entitlements[3].lend: pool "q": "b" has no slots or kvBytes in its baseline: lend keeps nothing for it',
  ]);
});

test('one that concerns several entitlements stands at each', () => {
  const told = inPool('tenant: a, class: elastic', 'tenant: b, class: elastic', 'tenant: c, class: spot').filter((text) => text.includes('elastic'));
  expect(told.map((text) => text.slice(0, 24))).toEqual(['pool "p": "a" is elastic', 'pool "p": "b" is elastic']);
});

describe('pools that never match', () => {
  function of(...globs: readonly (readonly string[])[]): string[] {
    const pools = globs.map((models, i) => `{ id: p${i}, kind: self-hosted, capacity: { slots: 1 }, models: ${JSON.stringify(models)} }`);
    return loadedWarnings(`tenants: [{ id: a, KEY }]\npools: [${pools.join(', ')}]`);
  }

  test.each([
    ['the same', [['llama-3'], ['llama-3']]],
    ['a star before', [['*'], ['llama-3*']]],
    ['a wider star', [['llama*'], ['llama-3*-chat']]],
    ['a question mark', [['gpt-?'], ['gpt-4']]],
  ])('%s', (_, globs) => {
    expect(of(...globs)).toEqual(['pool "p1" never serves a request: all its models go to "p0", before it']);
  });

  test.each([
    ['narrower before wider', [['llama-3'], ['llama-*'], ['*']]],
    ['a star that may be empty', [['gpt-?*'], ['gpt-*']]],
    ['a question mark is one character', [['gpt-?'], ['gpt-*']]],
    ['two that overlap', [['*-chat'], ['llama-*']]],
  ])('none: %s', (_, globs) => {
    expect(of(...globs)).toEqual([]);
  });

  test('several pools before one, and a part of one', () => {
    expect(of(['a*'], ['b*'], ['ab', 'bc'])).toEqual(['pool "p2" never serves a request: all its models go to "p0" and "p1", before it']);
    expect(of(['a*'], ['ab', 'c'])).toEqual(['pool "p1": its models "ab" all go to pool "p0", which stands before it']);
  });
});

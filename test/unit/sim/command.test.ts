import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HELP, parseCommand, SIMULATE_HELP, type SimulateCommand } from '../../../src/cli.js';
import { simulate } from '../../../src/simulate.js';

const CONFIG = `
tenants:
  - { id: shop, keys: ["sha256:${'1'.repeat(64)}"] }
  - { id: team, parent: shop, keys: ["sha256:${'2'.repeat(64)}"] }
  - { id: night, keys: ["sha256:${'3'.repeat(64)}"] }
pools:
  - { id: chat, kind: self-hosted, models: ["llama-3*"], capacity: { slots: 8 } }
entitlements:
  - { tenant: shop, pool: chat, class: guaranteed, baseline: { slots: 4 } }
  - { tenant: night, pool: chat, class: spot }
`;
const SCENARIO = `
durationSeconds: 20
engine: { kind: batching, slots: 8 }
tenants:
  - { id: team, arrivals: { kind: poisson, perSecond: 2 } }
  - id: night
    arrivals: { kind: closed, clients: 4 }
`;
const AZURE = `TIMESTAMP,ContextTokens,GeneratedTokens\n${Array.from({ length: 50 }, (_, i) => `2023-11-16 18:15:${String(10 + (i % 50)).padStart(2, '0')}.5,200,30`).join('\n')}\n`;

let dir = '';
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tokenweir-sim-'));
  await Promise.all([writeFile(join(dir, 'c.yaml'), CONFIG), writeFile(join(dir, 's.yaml'), SCENARIO), writeFile(join(dir, 't.csv'), AZURE)]);
});
afterAll(() => rm(dir, { recursive: true, force: true }));

async function run(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const told = { out: '', err: '' };
  const command = parseCommand(['simulate', '--config', join(dir, 'c.yaml'), ...args]);
  if (command.kind !== 'simulate') throw new Error(JSON.stringify(command));
  const code = await simulate(command, (text) => (told.out += text), (text) => (told.err += text));
  return { code, ...told };
}

describe('the command line of simulate', () => {
  it('has its own help', () => {
    expect(parseCommand(['simulate', '--help'])).toEqual({ kind: 'simulate-help' });
    expect(parseCommand(['--help'])).toEqual({ kind: 'help' });
    for (const option of ['--scenario', '--trace', '--policy', '--compare', '--seed', '--speed-up', '--scale', '--json', '--chart']) expect(SIMULATE_HELP).toContain(option);
  });

  it('reads its options', () => {
    const command = parseCommand(['simulate', '--scenario', 's', '--trace', 't', '--policy', 'vtc,fcfs', '--seed', '7', '--speed-up', '2', '--scale', '1.3', '--json', 'j', '--chart', 'c']);
    const expected: SimulateCommand = { kind: 'simulate', config: 'tokenweir.yaml', scenario: 's', trace: 't', policies: ['vtc', 'fcfs'], compare: false, seed: 7, speedUp: 2, scale: 1.3, json: 'j', chart: 'c' };
    expect(command).toEqual(expected);
  });

  it.each([
    [['simulate'], "'simulate' needs --scenario or --trace"],
    [['simulate', '--trace', 't', '--seed', '1.5'], '--seed must be'],
    [['simulate', '--trace', 't', '--seed', ''], '--seed must be'],
    [['simulate', '--trace', 't', '--speed-up', '0'], '--speed-up must be'],
    [['simulate', '--trace', 't', '--scale', 'much'], '--scale must be'],
    [['simulate', '--trace', 't', '--real'], "'simulate' does not take --real"],
    [['simulate', '--trac', 't'], /^Unknown option '--trac'$/],
    [['serve', '--trace', 't'], "'serve' does not take --trace"],
  ])('refuses %j', (args, message) => {
    const help = args[0] === 'simulate' ? SIMULATE_HELP : HELP;
    expect(parseCommand(args)).toEqual({ kind: 'usage', message: expect.stringMatching(message) as string, help });
  });
});

describe('simulate', () => {
  it('runs a scenario under all policies, and writes tables, JSON and charts', async () => {
    const { code, out, err } = await run('--scenario', join(dir, 's.yaml'), '--compare', '--json', join(dir, 'o.json'), '--chart', join(dir, 'o.svg'));
    expect([code, err]).toEqual([0, '']);
    expect(out.match(/^team +guaranteed/gm)).toHaveLength(5);
    const { results } = JSON.parse(await readFile(join(dir, 'o.json'), 'utf8')) as { results: { policy: string }[] };
    expect(results.map(({ policy }) => policy)).toEqual(['tokenweir', 'vtc', 'fcfs', 'static', 'none']);
    for (const { policy } of results) expect(await readFile(join(dir, `o.${policy}.svg`), 'utf8')).toContain('Pool chat, simulated');
  });

  it('runs a trace over the entitlements, as fast as is asked', async () => {
    const { code, out, err } = await run('--trace', join(dir, 't.csv'), '--speed-up', '10', '--chart', join(dir, 'one.svg'));
    expect([code, err]).toEqual([0, `${join(dir, 't.csv')}: 50 requests (azure)\n`]);
    expect(out).toMatch(/^shop +guaranteed +\d+/m);
    expect(await readFile(join(dir, 'one.svg'), 'utf8')).toMatch(/^<svg/);
  });

  it('the seed of the command line counts', async () => {
    const of = async (seed: string): Promise<string> => (await run('--scenario', join(dir, 's.yaml'), '--seed', seed)).out;
    expect(await of('1')).toBe((await run('--scenario', join(dir, 's.yaml'))).out);
    expect(await of('2')).not.toBe(await of('1'));
  });

  it('says where a scenario is wrong: file, line, column and field', async () => {
    const path = join(dir, 'bad.yaml');
    await writeFile(path, SCENARIO.replace('perSecond: 2', 'perSecond: fast').replace('clients: 4', 'clients: 4, think: 2'));
    const { code, err } = await run('--scenario', path);
    expect([code, err.split('\n')]).toEqual([1, [`${path}:5:55 tenants[0].arrivals.perSecond: must be a number`, `${path}:7:43 tenants[1].arrivals.think: unknown key`, '']]);
    await writeFile(path, 'tenants: [\n');
    expect((await run('--scenario', path)).err).toMatch(/^.*bad\.yaml:\d+:\d+ not valid YAML/);
  });

  it('warns of a source that no tenant is named for, and runs it', async () => {
    await writeFile(join(dir, 'typo.yaml'), SCENARIO.replace('id: night', 'id: nigt'));
    const { code, err } = await run('--scenario', join(dir, 'typo.yaml'));
    expect([code, err]).toEqual([0, `warning: ${join(dir, 'typo.yaml')}: tenants[1].id: no tenant of the configuration is "nigt" (did you mean "night"?); it counts as one without an entitlement\n`]);
  });

  it.each([
    [['--scenario', 'none.yaml'], 1, 'none.yaml: this file does not exist'],
    [['--trace', 'none.csv'], 1, 'none.csv: cannot be read (ENOENT)'],
    [['--trace', 's.yaml'], 1, 's.yaml: line 1: neither'],
    [['--scenario', 's.yaml', '--policy', 'tokenwier'], 2, "there is no policy 'tokenwier'"],
    [['--scenario', 's.yaml', '--json', 'no/where.json'], 1, 'where.json: cannot be written (ENOENT)'],
  ])('refuses %j', async (args, code, message) => {
    const result = await run(...args.map((arg) => (/[.]/.test(arg) ? join(dir, arg) : arg)));
    expect([result.code, result.err]).toEqual([code, expect.stringContaining(message)]);
  });

  it('needs a pool in the configuration, and the scenario to say which if there are several', async () => {
    const at = async (config: string, ...args: string[]): Promise<string> => {
      await writeFile(join(dir, 'other.yaml'), config);
      return (await run('--config', join(dir, 'other.yaml'), '--scenario', join(dir, args[0] ?? 's.yaml'))).err;
    };
    expect(await at(CONFIG.slice(0, CONFIG.indexOf('pools:')))).toContain('the configuration has no pools');
    const two = CONFIG.replace('entitlements:', '  - { id: other, kind: self-hosted, models: ["qwen*"], capacity: { slots: 8 } }\nentitlements:');
    expect(await at(two)).toContain('several pools (chat, other)');
    await writeFile(join(dir, 'named.yaml'), `pool: third\n${SCENARIO}`);
    expect(await at(two, 'named.yaml')).toContain('there is no pool "third"');
  });
});

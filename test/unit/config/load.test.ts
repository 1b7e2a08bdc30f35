import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { MAX_FILE_BYTES } from '../../../src/config/defaults.js';
import { configurationJsonSchema, configurationMarkdown } from '../../../src/config/docs.js';
import { hashKey } from '../../../src/config/hash-key.js';
import { loadConfig, parseConfig, problemLines } from '../../../src/config/load.js';
import { summaryOf } from '../../../src/config/summary.js';

const root = new URL('../../../', import.meta.url);
let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tokenweir-config-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function messages(content: string | Buffer): Promise<string[]> {
  const path = join(folder, 'c.yaml');
  await writeFile(path, content);
  const result = await loadConfig(path, {});
  return result.ok ? [] : result.problems.map(({ line, column, path: field, message }) => `${line}:${column} ${field} ${message}`);
}

test('files that are no configuration are told in a sentence', async () => {
  const missing = await loadConfig(join(folder, 'none.yaml'));
  expect(missing).toMatchObject({ ok: false, problems: [{ file: join(folder, 'none.yaml'), line: 1, message: 'this file does not exist' }] });
  expect(await loadConfig(folder)).toMatchObject({ ok: false, problems: [{ message: 'this file is a folder' }] });
  expect(await messages(Buffer.from([0x61, 0x3a, 0x20, 0xff]))).toEqual(['1:1  this file is not UTF-8 text']);
  expect(await messages('#'.repeat(MAX_FILE_BYTES + 1))).toEqual(['1:1  this file is too large: more than 4 MiB']);
});

test('named files are looked for beside the configuration, and every one that is wrong is told', async () => {
  await writeFile(join(folder, 'server.crt'), '-----BEGIN CERTIFICATE-----\n');
  await writeFile(join(folder, 'server.key'), 'not a key');
  const text = 'server:\n  tls:\n    extProc:\n      certFile: server.crt\n      keyFile: server.key\n      clientCaFile: ca.crt\n';
  expect(await messages(text)).toEqual([
    '5:16 server.tls.extProc.keyFile this file holds no private key in PEM form',
    '6:21 server.tls.extProc.clientCaFile this file does not exist',
  ]);
  await writeFile(join(folder, 'server.key'), '-----BEGIN EC PRIVATE KEY-----\n');
  await writeFile(join(folder, 'c.yaml'), text.replace('ca.crt', 'server.crt'));
  const result = await loadConfig(join(folder, 'c.yaml'));
  expect(result.ok && result.config.server.tls.extProc).toEqual({
    certFile: join(folder, 'server.crt'),
    keyFile: join(folder, 'server.key'),
    clientCaFile: join(folder, 'server.crt'),
  });
});

test('the example has no problems and no warnings, and its keys are the demo keys', async () => {
  const result = await loadConfig(new URL('tokenweir.example.yaml', root).pathname, {});
  expect(result).toMatchObject({ ok: true, warnings: [] });
  if (!result.ok) return;
  for (const id of ['acme', 'globex', 'initech']) {
    expect(result.config.policy.identity.keys.get(hashKey(`demo-key-${id}`).slice('sha256:'.length))).toBe(id);
  }
});

test('docs/configuration.md and its JSON Schema are what `npm run docs` makes from the schema', async () => {
  const read = (name: string): Promise<string> => readFile(new URL(name, root), 'utf8');
  expect(await read('docs/configuration.md')).toBe(configurationMarkdown(await read('tokenweir.example.yaml')));
  expect(await read('docs/configuration.schema.json')).toBe(configurationJsonSchema());
});

test('the file with all fields in the documentation loads', async () => {
  const markdown = await readFile(new URL('docs/configuration.md', root), 'utf8');
  const blocks = [...markdown.matchAll(/```yaml\n(.*?)```/gs)].map(([, block]) => block ?? '');
  expect(blocks).toHaveLength(2);
  expect(parseConfig(blocks[0]!, 'docs')).toMatchObject({ ok: true });
});

test('the examples of docs/pools.md load, without warnings', async () => {
  const markdown = await readFile(new URL('docs/pools.md', root), 'utf8');
  const blocks = [...markdown.matchAll(/```yaml\n(.*?)```/gs)].map(([, block]) => block ?? '');
  expect(blocks).toHaveLength(2);
  for (const block of blocks) expect(parseConfig(block, 'docs')).toMatchObject({ ok: true, warnings: [] });
});

test.each([
  ['log: {}', '0 tenants'],
  ['tenants: [{ id: a }]', '1 tenant'],
  ['tenants: [{ id: a }, { id: b }]\npools: [{ id: p, kind: provider, models: [x] }]', '2 tenants, 1 pool, 0 entitlements'],
  ['tenants: [{ id: a }]\npools: [{ id: p, kind: provider, models: [x] }, { id: q, kind: provider, models: [y] }]\nentitlements: [{ tenant: a, pool: q, class: spot }]', '1 tenant, 2 pools, 1 entitlement'],
])('what `check` says of %j', (text, expected) => {
  const result = parseConfig(text, 'c');
  expect(result.ok && summaryOf(result.config)).toBe(expected);
});

test('what is allowed and hardly meant is warned of', () => {
  const result = parseConfig('server: { extProc: "0.0.0.0:1" }\nenforcement: off\nadminToken: short\ntenants: [{ id: a }, { id: b, parent: a }]\n', 'c');
  expect(result.ok && problemLines(result.warnings)).toEqual([
    'c:1:20 server.extProc: listens on more than loopback without TLS: keys and prompts pass unencrypted',
    'c:2:14 enforcement: enforcement is off: nothing is counted or limited',
    'c:3:13 adminToken: the admin token is shorter than 16 characters',
    'c:4:10 tenants: no request can be told whose it is: every one will be refused',
  ]);
});

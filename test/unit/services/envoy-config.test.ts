import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { renderEnvoyConfig } from '../../../src/services/envoy-config.js';
import { PROJECT_ROOT } from '../../../src/services/resolve.js';

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tokenweir-render-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

/** All leaves of a document as `path = value`. */
function leaves(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return [`${path} = ${String(value)}`];
  return Object.entries(value).flatMap(([key, member]) => leaves(member, `${path}/${key}`));
}

const reference = async (name: string): Promise<string[]> => leaves(parse(await readFile(join(PROJECT_ROOT, 'envoy', name), 'utf8')));

/** What is only in the second list, by its last names. */
function added(before: string[], after: string[]): string[] {
  return after.filter((leaf) => !before.includes(leaf)).map((leaf) => leaf.split('/').slice(-2).join('/'));
}

const AT = (port: number): { host: string; port: number } => ({ host: '127.0.0.1', port });

test('rendering changes the four addresses and nothing else', async () => {
  // A new port that equals another place's well-known one must not be taken for it.
  const addresses = { listener: AT(9901), admin: AT(10000), processor: AT(4000), upstream: { host: 'gateway', port: 9002 } };
  const before = await reference('envoy.yaml');
  const after = leaves(parse(await readFile(await renderEnvoyConfig('envoy.yaml', addresses, { dir }), 'utf8')));
  expect(after).toHaveLength(before.length);
  expect(added(before, after).sort()).toEqual(
    ['address = 127.0.0.1', 'address = gateway', 'port_value = 10000', 'port_value = 4000', 'port_value = 9002', 'port_value = 9901'].map((leaf) => `socket_address/${leaf}`),
  );
});

test('the bound of the upstream can be set', async () => {
  const addresses = { listener: AT(1), admin: AT(2), processor: AT(3), upstream: AT(4) };
  const text = await readFile(await renderEnvoyConfig('envoy.alone.yaml', addresses, { dir, upstreamMaxRequests: 77 }), 'utf8');
  expect(text.match(/max_requests: \d+/g)).toEqual(['max_requests: 65536', 'max_requests: 77']);
});

test('the three files differ in stage, failure mode and body modes only', async () => {
  const front = await reference('envoy.yaml');
  expect(added(front, await reference('envoy.alone.yaml'))).toEqual(['0/value = both', 'typed_config/failure_mode_allow = false', 'status_on_error/code = 503']);
  expect(added(front, await reference('envoy.duplex.yaml'))).toEqual([
    '0/value = both',
    'typed_config/failure_mode_allow = false',
    'status_on_error/code = 503',
    'processing_mode/request_body_mode = FULL_DUPLEX_STREAMED',
    'processing_mode/request_trailer_mode = SEND',
    'processing_mode/response_body_mode = FULL_DUPLEX_STREAMED',
  ]);
});

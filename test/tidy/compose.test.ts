import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { ROOT } from './sources.js';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const service = z.object({
  image: z.string(),
  volumes: z.array(z.string()).default([]),
  environment: z.record(z.string(), z.string()).default({}),
  healthcheck: z.unknown().optional(),
  networks: z.array(z.string()).default(['default']),
});
const composeFile = z.strictObject({
  services: z.record(z.string(), service),
  secrets: z.record(z.string(), z.object({ file: z.string() })),
  volumes: z.record(z.string(), z.unknown()),
  networks: z.record(z.string(), z.unknown()),
});

/** The reference configuration, with the addresses that two of its clusters have in the compose network. */
function envoyForCompose(reference: string): string {
  const moved = [
    ['address: 127.0.0.1, port_value: 9002', 'address: processor, port_value: 9002'],
    ['address: 127.0.0.1, port_value: 4000', 'address: litellm, port_value: 4000'],
  ] as const;
  return moved.reduce((text, [from, to]) => {
    if (text.split(from).length !== 2) throw new Error(`envoy/envoy.yaml: expected "${from}" once`);
    return text.replace(from, to);
  }, reference);
}

describe('docker-compose.yml', () => {
  const compose = composeFile.parse(parse(read('docker-compose.yml')));
  const services = Object.entries(compose.services);

  it('pins every image to a full version', () => {
    for (const [name, { image }] of services) expect(image, name).toMatch(/:v?\d+\.\d+\.\d+(-[a-z0-9]+)?$/);
  });

  it('uses no LiteLLM release that was malicious', () => {
    expect(compose.services['litellm']?.image).not.toMatch(/:v?(1\.82\.[78]|1\.107\.0)\b/);
  });

  it('checks the health of every service', () => {
    const inImage = /^HEALTHCHECK /m.test(read('deploy/docker/Dockerfile')) ? ['processor'] : [];
    const unchecked = services.filter(([, { healthcheck }]) => healthcheck === undefined).map(([name]) => name);
    expect(unchecked).toEqual(inImage);
  });

  it('holds no secret: keys and tokens are asked for by name', () => {
    const given = services.flatMap(([, { environment }]) => Object.entries(environment));
    const sensitive = given.filter(([name]) => /key|token|secret|password/i.test(name));
    expect(sensitive.length).toBeGreaterThan(0);
    for (const [name, value] of sensitive) expect(value, name).toMatch(/^\$\{[A-Z_]+(:\?.+|:-none)\}$/);
    for (const { file } of Object.values(compose.secrets)) expect(file).toMatch(/^\$\{[A-Z_]+:\?.+\}$/);
  });

  it('lets nobody but processors reach the shared store, which asks for no password', () => {
    const reach = (network: string): string[] => services.filter(([, { networks }]) => networks.includes(network)).map(([name]) => name);
    expect(compose.services['redis']?.networks).toEqual(['store']);
    expect(reach('store')).toEqual(['processor', 'redis']);
    expect(compose.networks['store']).toEqual({ internal: true });
  });

  it('mounts only files that are there', () => {
    const mounts = services.flatMap(([, { volumes }]) => volumes.map((volume) => volume.split(':')[0] ?? ''));
    const missing = mounts.filter((path) => path.startsWith('./') && !existsSync(join(ROOT, path)));
    expect(missing).toEqual([]);
  });
});

describe('deploy/compose/envoy.yaml', () => {
  it('is envoy/envoy.yaml with other addresses', async () => {
    const rendered = envoyForCompose(read('envoy/envoy.yaml'));
    await expect(rendered).toMatchFileSnapshot(join(ROOT, 'deploy/compose/envoy.yaml'));
  });
});

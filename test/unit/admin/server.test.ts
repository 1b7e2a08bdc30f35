import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ListenAddress } from '../../../src/admin/listening.js';
import { createAdminServer, type AdminOptions, type AdminServer } from '../../../src/admin/server.js';
import { buildStatus } from '../../../src/admin/status.js';
import { systemClock } from '../../../src/lib/clock.js';
import { makeCertificates, type Certificates } from './certificates.js';
import { fetchOnce } from './http.js';
import { policy } from './policies.js';

const LOOPBACK: ListenAddress = { kind: 'tcp', host: '127.0.0.1', port: 0 };
const servers: AdminServer[] = [];
const folder = mkdtempSync(join(tmpdir(), 'tokenweir-admin-'));

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

function admin(changes: Partial<AdminOptions> = {}): AdminServer {
  const server = createAdminServer({
    listen: LOOPBACK,
    tls: null,
    token: null,
    clock: systemClock,
    health: () => ({ ready: true, draining: false }),
    metrics: async () => ({ contentType: 'text/plain', body: 'up 1\n' }),
    status: async () => buildStatus(policy([]), [], { leases: 0, levels: [], totals: new Map() }),
    ...changes,
  });
  servers.push(server);
  return server;
}

async function startedPort(server: AdminServer): Promise<number> {
  const { address } = await server.start();
  return address.kind === 'tcp' ? address.port : 0;
}

describe('admin server (point 8)', () => {
  it('listens on a port that the system chose and tells which', async () => {
    const { address, text } = await admin().start();
    expect(address).toMatchObject({ kind: 'tcp', host: '127.0.0.1' });
    expect(text).toMatch(/^127\.0\.0\.1:[1-9]\d*$/);
  });

  it('answers with headers that keep browsers and caches away', async () => {
    const port = await startedPort(admin());
    const { status, headers, body } = await fetchOnce({ port, path: '/healthz' });
    expect([status, body]).toEqual([200, 'ok\n']);
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store', 'content-length': '3' });
  });

  it('answers HEAD as GET, without the body', async () => {
    const port = await startedPort(admin());
    const { status, headers, body } = await fetchOnce({ port, path: '/metrics', method: 'HEAD' });
    expect([status, headers['content-length'], body]).toEqual([200, '5', '']);
  });

  it('asks for the token', async () => {
    const port = await startedPort(admin({ token: 's3cret' }));
    expect((await fetchOnce({ port, path: '/status' })).status).toBe(401);
    expect((await fetchOnce({ port, path: '/status', headers: { authorization: 'Bearer s3cret' } })).status).toBe(200);
  });

  it('says in a sentence that the port is taken', async () => {
    const port = await startedPort(admin());
    await expect(admin({ listen: { ...LOOPBACK, port } }).start()).rejects.toThrow(
      `The admin port can't listen on 127.0.0.1:${port}: something else listens there; stop it, or set server.admin to another address.`,
    );
  });

  it('ends in time though a client keeps a half-sent request open', async () => {
    const server = admin();
    const port = await startedPort(server);
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    await new Promise<void>((resolve) => {
      socket.write('GET /healthz HTTP/1.1\r\nhost:', () => {
        resolve();
      });
    });
    const closed = new Promise((resolve) => socket.once('close', resolve));
    const startMs = performance.now();
    await Promise.all([server.close(), server.close()]);
    expect(performance.now() - startMs).toBeLessThan(3_000);
    await closed;
    await expect(fetchOnce({ port, path: '/healthz' })).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});

describe('admin server on a unix socket', () => {
  it('answers there, and replaces a socket that a dead process left', async () => {
    const path = join(folder, 'a.sock');
    await leaveDeadSocket(path);
    const { text } = await admin({ listen: { kind: 'unix', path } }).start();
    expect(text).toBe(`unix:${path}`);
    expect((await fetchOnce({ socketPath: path, path: '/healthz' })).status).toBe(200);
  });

  it('does not take a socket away from somebody who lives', async () => {
    const path = join(folder, 'b.sock');
    await admin({ listen: { kind: 'unix', path } }).start();
    await expect(admin({ listen: { kind: 'unix', path } }).start()).rejects.toThrow(`unix:${path}: something else listens there`);
    expect((await fetchOnce({ socketPath: path, path: '/healthz' })).status).toBe(200);
  });

  it('does not delete a file that is no socket', async () => {
    const path = join(folder, 'notes.txt');
    writeFileSync(path, 'mine');
    await expect(admin({ listen: { kind: 'unix', path } }).start()).rejects.toThrow(`The admin port can't listen on unix:${path}`);
    expect(await readFile(path, 'utf8')).toBe('mine');
  });
});

describe('admin server with TLS (point 8)', () => {
  let certificates: Certificates;

  beforeAll(async () => {
    certificates = await makeCertificates(folder);
  });

  const files = (clientCaFile: string | null) => ({ certFile: certificates.server.cert, keyFile: certificates.server.key, clientCaFile });

  it('serves TLS and nothing else', async () => {
    const port = await startedPort(admin({ tls: files(null) }));
    const ca = await readFile(certificates.ca);
    expect((await fetchOnce({ host: '127.0.0.1', port, path: '/healthz', ca }, true)).status).toBe(200);
    await expect(fetchOnce({ host: '127.0.0.1', port, path: '/healthz' })).rejects.toThrow();
  });

  it('with an authority for clients, serves only those with a certificate of it', async () => {
    const port = await startedPort(admin({ tls: files(certificates.ca) }));
    const target = { host: '127.0.0.1', port, path: '/healthz', ca: await readFile(certificates.ca) };
    const as = async ({ cert, key }: { cert: string; key: string }) => ({ ...target, cert: await readFile(cert), key: await readFile(key) });
    expect((await fetchOnce(await as(certificates.client), true)).status).toBe(200);
    await expect(fetchOnce(target, true)).rejects.toThrow();
    await expect(fetchOnce(await as(certificates.stranger), true)).rejects.toThrow();
    expect((await fetchOnce(await as(certificates.client), true)).status).toBe(200);
  });

  it('says which file is missing, or that they do not fit', () => {
    const missing = join(folder, 'none.crt');
    expect(() => admin({ tls: { ...files(null), certFile: missing } })).toThrow(`The admin port's TLS file ${missing} can't be read (ENOENT).`);
    expect(() => admin({ tls: { ...files(null), keyFile: certificates.client.key } })).toThrow(/are no certificate with its key/);
  });
});

/** A socket file whose server is gone: Node removes its own on close, so the file is moved aside and back. */
async function leaveDeadSocket(path: string): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(`${path}.tmp`, resolve);
  });
  renameSync(`${path}.tmp`, path);
  await new Promise((resolve) => server.close(resolve));
}

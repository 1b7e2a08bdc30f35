import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificates, type Certificates } from '../unit/admin/certificates.js';
import { startRedis, type RedisServer } from './redis-server.js';

export interface TlsRedis {
  /** `rediss://127.0.0.1:PORT/0` */
  readonly url: string;
  readonly server: RedisServer;
  readonly certificates: Certificates;
  stop(): Promise<void>;
}

/** A server that speaks TLS only, with certificates made for it; `mutual`: it takes no client without one. */
export async function startTlsRedis({ mutual = false, args = [] }: { mutual?: boolean; args?: readonly string[] } = {}): Promise<TlsRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'tokenweir-redis-tls-'));
  const certificates = await makeCertificates(folder);
  const { cert, key } = certificates.server;
  const files = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', certificates.ca, '--tls-auth-clients', mutual ? 'yes' : 'no'];
  const server = await startRedis({ tls: true, args: [...files, ...args] });
  return {
    url: server.url,
    server,
    certificates,
    stop: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

import { lstatSync, readFileSync, unlinkSync } from 'node:fs';
import { connect, type Server } from 'node:net';
import type { TlsOptions } from 'node:tls';

/** Where to listen. TCP port 0: the system chooses. */
export type ListenAddress =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string };

/** PEM files. With `clientCaFile` every client needs a certificate of one of its authorities. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly clientCaFile: string | null;
}

/** The port can't be served; the message is one sentence for the person who started it. */
export class AdminListenError extends Error {
  override readonly name = 'AdminListenError';
}

/** Reads the files. @throws AdminListenError naming the file that can't be read. */
export function tlsOptions({ certFile, keyFile, clientCaFile }: TlsFiles): TlsOptions {
  const mutual = clientCaFile === null ? {} : { ca: readPem(clientCaFile), requestCert: true, rejectUnauthorized: true };
  return { cert: readPem(certFile), key: readPem(keyFile), minVersion: 'TLSv1.2', ...mutual };
}

function readPem(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new AdminListenError(`The admin port's TLS file ${path} can't be read (${codeOf(error)}).`);
  }
}

/** As a person writes it: `127.0.0.1:9003`, `[::1]:9003`, `unix:/path`. */
export function addressText(address: ListenAddress): string {
  if (address.kind === 'unix') return `unix:${address.path}`;
  return address.host.includes(':') ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`;
}

/**
 * Listens, and answers where (with the port that the system chose). A socket file that a dead process left is replaced; one
 * that somebody still answers on is not. @throws AdminListenError
 */
export async function listen(server: Server, address: ListenAddress): Promise<ListenAddress> {
  try {
    await listenOnce(server, address);
  } catch (error) {
    if (address.kind !== 'unix' || codeOf(error) !== 'EADDRINUSE' || !(await isDeadSocket(address.path))) throw explained(error, address);
    unlinkSync(address.path);
    await listenOnce(server, address).catch((again: unknown) => {
      throw explained(again, address);
    });
  }
  const bound = server.address();
  return address.kind === 'tcp' && bound !== null && typeof bound === 'object' ? { ...address, port: bound.port } : address;
}

function listenOnce(server: Server, address: ListenAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(address.kind === 'unix' ? { path: address.path } : { host: address.host, port: address.port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** A socket on which nobody answers. Anything else at that path is not ours to remove. */
async function isDeadSocket(path: string): Promise<boolean> {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() !== true) return false;
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', (error) => {
      resolve(codeOf(error) === 'ECONNREFUSED');
    });
  });
}

const WHY: Readonly<Record<string, string>> = {
  EADDRINUSE: 'something else listens there; stop it, or set server.admin to another address',
  EACCES: 'this user may not listen there',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'the host name is not known',
  ENOENT: 'the folder of the socket does not exist',
};

function explained(error: unknown, address: ListenAddress): AdminListenError {
  const code = codeOf(error);
  return new AdminListenError(`The admin port can't listen on ${addressText(address)}: ${WHY[code] ?? code}.`);
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown error';
}

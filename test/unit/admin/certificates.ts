import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Certificates {
  readonly ca: string;
  readonly server: { readonly cert: string; readonly key: string };
  readonly client: { readonly cert: string; readonly key: string };
  /** Signed by nobody the server trusts. */
  readonly stranger: { readonly cert: string; readonly key: string };
}

/** Makes an authority, a server certificate for 127.0.0.1, a client's and a stranger's. Needs `openssl` on the PATH. */
export async function makeCertificates(folder: string): Promise<Certificates> {
  const path = (name: string): string => join(folder, name);
  await openssl(folder, [...SELF_SIGNED, '-subj', '/CN=test authority', '-keyout', 'ca.key', '-out', 'ca.crt']);
  await openssl(folder, [...SELF_SIGNED, '-subj', '/CN=stranger', '-keyout', 'stranger.key', '-out', 'stranger.crt']);
  await writeFile(path('san.txt'), 'subjectAltName=IP:127.0.0.1,DNS:localhost\n');
  for (const name of ['server', 'client']) {
    await openssl(folder, ['req', ...NEW_KEY, '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.csr`]);
    const issue = ['x509', '-req', '-in', `${name}.csr`, '-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2'];
    await openssl(folder, [...issue, '-extfile', 'san.txt', '-out', `${name}.crt`]);
  }
  const pair = (name: string) => ({ cert: path(`${name}.crt`), key: path(`${name}.key`) });
  return { ca: path('ca.crt'), server: pair('server'), client: pair('client'), stranger: pair('stranger') };
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
const SELF_SIGNED = ['req', '-x509', ...NEW_KEY, '-days', '2'];

async function openssl(folder: string, args: readonly string[]): Promise<void> {
  try {
    await run('openssl', [...args], { cwd: folder });
  } catch (error) {
    throw new Error('the TLS tests need the openssl command on the PATH, and it failed', { cause: error });
  }
}

import type { Outline, OutlineTls } from './outline.js';
import type { Path } from './problem.js';

/** What a configuration refers to and does not contain: read beforehand, so that judging it needs no I/O. */
export interface Outside {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Content by path as it stands in the configuration; what is not in it could not be read. */
  readonly files: ReadonlyMap<string, FileContent>;
}

export type FileContent = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly reason: string };

export const NOTHING_OUTSIDE: Outside = { env: {}, files: new Map() };

export type FileKind = 'certificate' | 'key' | 'token';

/** A file that a configuration names, and where it does. */
export interface FileReference {
  readonly path: Path;
  readonly file: string;
  readonly kind: FileKind;
}

/** Every file that a configuration names to be read. */
export function referencedFiles(outline: Outline): FileReference[] {
  const { tls } = outline.server;
  const references = [...tlsFiles('extProc', tls.extProc), ...tlsFiles('admin', tls.admin), ...storeFiles(outline)];
  if (outline.adminTokenFile !== null) references.push({ path: ['adminTokenFile'], file: outline.adminTokenFile, kind: 'token' });
  return references.filter(({ file }) => file !== '');
}

function tlsFiles(port: 'extProc' | 'admin', tls: OutlineTls): FileReference[] {
  const kinds = { certFile: 'certificate', keyFile: 'key', clientCaFile: 'certificate' } as const;
  const fields = Object.keys(kinds) as (keyof typeof kinds)[];
  return fields.flatMap((field) => {
    const file = tls?.[field] ?? null;
    return file === null ? [] : [{ path: ['server', 'tls', port, field], file, kind: kinds[field] }];
  });
}

function storeFiles({ storeLogin, storeTls }: Outline): FileReference[] {
  const references: [Path, string | null, FileKind][] = [
    [['storeLogin', 'passwordFile'], storeLogin.own.file, 'token'],
    [['storeLogin', 'sentinelPasswordFile'], storeLogin.sentinel.file, 'token'],
    [['storeTls', 'caFile'], storeTls.caFile, 'certificate'],
    [['storeTls', 'certFile'], storeTls.certFile, 'certificate'],
    [['storeTls', 'keyFile'], storeTls.keyFile, 'key'],
  ];
  return references.flatMap(([path, file, kind]) => (file === null ? [] : [{ path, file, kind }]));
}

import { isLoopback, parseAddress } from './address.js';
import type { Outline } from './outline.js';
import { referencedFiles, type FileReference, type Outside } from './outside.js';
import type { Finding } from './problem.js';
import { isFromEnvironment, secretOf } from './secret.js';

/** What is wrong with ports, the admin token and the files that are named. */
export function checkServer(outline: Outline, outside: Outside): Finding[] {
  const files = referencedFiles(outline).flatMap((reference) => checkFile(reference, outside));
  return [...checkAddresses(outline), ...checkToken(outline, outside), ...files];
}

function finding(path: Finding['path'], message: string): Finding {
  return { path, message, at: 'value' };
}

function checkAddresses({ server }: Outline): Finding[] {
  const same = server.admin !== null && server.admin === server.extProc && !server.admin.endsWith(':0');
  return same ? [finding(['server', 'admin'], 'must not be the address of server.extProc')] : [];
}

function checkToken(outline: Outline, outside: Outside): Finding[] {
  const { adminToken, adminTokenFile } = outline;
  if (adminToken !== null && adminTokenFile !== null) return [finding(['adminTokenFile'], 'give either adminToken or adminTokenFile, not both')];
  if (isFromEnvironment(adminToken) && adminTokenOf(outline, outside) === null) {
    return [finding(['adminToken'], 'names an environment variable that is not set or empty')];
  }
  const address = parseAddress(outline.server.admin ?? '');
  if (address === null || isLoopback(address) || adminToken !== null || adminTokenFile !== null) return [];
  return [finding(['server', 'admin'], 'listens on more than loopback: give adminToken or adminTokenFile too')];
}

function checkFile({ path, file, kind }: FileReference, outside: Outside): Finding[] {
  const content = outside.files.get(file) ?? { ok: false, reason: 'was not read' };
  if (!content.ok) return [finding(path, `this file ${content.reason}`)];
  if (kind === 'token') return content.text.trim() === '' ? [finding(path, 'this file is empty: it should hold a secret')] : [];
  if (kind === 'key') return /-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(content.text) ? [] : [finding(path, 'this file holds no private key in PEM form')];
  return content.text.includes('-----BEGIN CERTIFICATE-----') ? [] : [finding(path, 'this file holds no certificate in PEM form')];
}

/** The token itself, from wherever the configuration says; null without one. */
export function adminTokenOf({ adminToken, adminTokenFile }: Pick<Outline, 'adminToken' | 'adminTokenFile'>, outside: Outside): string | null {
  return secretOf({ value: adminToken, file: adminTokenFile }, outside);
}

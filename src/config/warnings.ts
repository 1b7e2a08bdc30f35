import type { Policy } from '../domain/policy.js';
import { isLoopback, parseAddress } from './address.js';
import type { Config } from './config.js';
import type { Finding, Path } from './problem.js';
import type { Document } from './schema.js';

const SHORT_TOKEN = 16;

/** What is allowed and probably not meant. */
export function warningsOf(config: Config, document: Document): Finding[] {
  return [...serverWarnings(config, document), ...storeWarnings(config), ...tenantWarnings(config, document)];
}

function warning(path: Path, message: string): Finding {
  return { path, message, at: 'value' };
}

function serverWarnings({ server, adminToken, policy }: Config, document: Document): Finding[] {
  const warnings: Finding[] = [];
  const open = (address: string): boolean => {
    const parsed = parseAddress(address);
    return parsed !== null && !isLoopback(parsed);
  };
  if (open(server.extProc) && server.tls.extProc === null) {
    warnings.push(warning(['server', 'extProc'], 'listens on more than loopback without TLS: keys and prompts pass unencrypted'));
  }
  if (open(server.admin) && server.tls.admin === null) warnings.push(warning(['server', 'admin'], 'listens on more than loopback without TLS: the token passes unencrypted'));
  if (adminToken !== null && adminToken.length < SHORT_TOKEN) {
    warnings.push(warning([document.adminTokenFile === null ? 'adminToken' : 'adminTokenFile'], `the admin token is shorter than ${SHORT_TOKEN} characters`));
  }
  if (policy.enforcement === 'off') warnings.push(warning(['enforcement'], 'enforcement is off: nothing is counted or limited'));
  return warnings;
}

function storeWarnings({ store: { address, onFailure, journal } }: Config): Finding[] {
  if (address.kind === 'memory') {
    const message = 'store is memory, which is never away: onStoreFailure and journal do nothing';
    return onFailure === 'local' && journal.file === null ? [] : [warning([onFailure === 'local' ? 'journal' : 'onStoreFailure'], message)];
  }
  const warnings: Finding[] = [];
  const far = address.nodes.some((node) => !isLoopback({ kind: 'tcp', ...node }));
  if (far && address.tls === null) warnings.push(warning(['store'], 'is not on this machine and without TLS (rediss…): tenants, counts and the password pass unencrypted'));
  if (address.tls?.acceptAnyCertificate === true) {
    warnings.push(warning(['storeTls', 'acceptAnyCertificate'], 'any server that answers is taken for the store'));
  }
  return warnings;
}

/** Tenants that no request can come to. */
function tenantWarnings({ policy }: Config, { tenants }: Document): Finding[] {
  const reached = reachedTenants(policy);
  if (reached === null) return [];
  if (reached.size === 0) return [warning(['tenants'], 'no request can be told whose it is: every one will be refused')];
  const used = new Set<string | null>([...reached, ...tenants.map(({ parent }) => parent)]);
  return tenants.flatMap(({ id }, index) => (used.has(id) ? [] : [warning(['tenants', index, 'id'], `no key, token or header leads to tenant "${id}"`)]));
}

/** Tenants that requests can be of; null: any of them, since a trusted header or tokens may name any. */
export function reachedTenants({ identity }: Policy): ReadonlySet<string> | null {
  const { keys, anonymousTenantId, unknownKeyTemplateId, trustedTenantHeader, jwt } = identity;
  if (trustedTenantHeader !== null || (jwt !== null && jwt.tenants === null)) return null;
  const named = [anonymousTenantId, unknownKeyTemplateId].filter((id) => id !== null);
  return new Set([...keys.values(), ...(jwt?.tenants?.values() ?? []), ...named]);
}

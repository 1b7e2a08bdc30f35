import type { Policy } from '../domain/policy.js';
import { isLoopback, parseAddress } from './address.js';
import type { Config } from './config.js';

const SHORT_TOKEN = 16;

/** What is allowed and probably not meant. */
export function warningsOf(config: Config): string[] {
  return [...serverWarnings(config), ...storeWarnings(config), ...tenantWarnings(config)];
}

function serverWarnings({ server, adminToken, policy }: Config): string[] {
  const warnings: string[] = [];
  const open = (address: string): boolean => {
    const parsed = parseAddress(address);
    return parsed !== null && !isLoopback(parsed);
  };
  if (open(server.extProc) && server.tls.extProc === null) warnings.push('server.extProc listens on more than loopback without TLS: keys and prompts pass unencrypted');
  if (open(server.admin) && server.tls.admin === null) warnings.push('server.admin listens on more than loopback without TLS: the token passes unencrypted');
  if (adminToken !== null && adminToken.length < SHORT_TOKEN) warnings.push(`the admin token is shorter than ${SHORT_TOKEN} characters`);
  if (policy.enforcement === 'off') warnings.push('enforcement is off: nothing is counted or limited');
  return warnings;
}

function storeWarnings({ store: { address, onFailure, journal } }: Config): string[] {
  if (address.kind === 'memory') return onFailure === 'local' && journal.file === null ? [] : ['store is memory, which is never away: onStoreFailure and journal do nothing'];
  const warnings: string[] = [];
  const far = address.nodes.some((node) => !isLoopback({ kind: 'tcp', ...node }));
  if (far && address.tls === null) warnings.push('store: not on this machine and without TLS (rediss…): tenants, counts and the password pass unencrypted');
  if (address.tls?.acceptAnyCertificate === true) warnings.push('storeTls.acceptAnyCertificate: any server that answers is taken for the store');
  return warnings;
}

/** Tenants that no request can come to. */
function tenantWarnings({ policy }: Config): string[] {
  const reached = reachedTenants(policy);
  if (reached === null) return [];
  if (reached.size === 0) return ['no request can be told whose it is: every one will be refused'];
  const used = new Set<string | null>([...reached, ...[...policy.tenants.values()].map(({ parentId }) => parentId)]);
  return [...policy.tenants.keys()].filter((id) => !used.has(id)).map((id) => `no key, token or header leads to tenant "${id}"`);
}

/** Tenants that requests can be of; null: any of them, since a trusted header or tokens may name any. */
export function reachedTenants({ identity }: Policy): ReadonlySet<string> | null {
  const { keys, anonymousTenantId, unknownKeyTemplateId, trustedTenantHeader, jwt } = identity;
  if (trustedTenantHeader !== null || (jwt !== null && jwt.tenants === null)) return null;
  const named = [anonymousTenantId, unknownKeyTemplateId].filter((id) => id !== null);
  return new Set([...keys.values(), ...(jwt?.tenants?.values() ?? []), ...named]);
}

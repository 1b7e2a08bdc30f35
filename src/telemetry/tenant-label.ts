import type { Policy } from '../domain/policy.js';
import { OTHER } from './bounded-labels.js';

/** The name under which metrics show a tenant of which only the id is known: as `Tenant.label` where it is configured or made from the template. */
export function tenantLabelOf({ tenants, identity }: Pick<Policy, 'tenants' | 'identity'>, tenantId: string): string {
  const configured = tenants.get(tenantId);
  if (configured !== undefined) return configured.label;
  const template = identity.unknownKeyTemplateId;
  return template !== null && tenantId.startsWith(`${template}:`) ? template : OTHER;
}

import type { Tenant } from '../domain/tenant.js';

/** Asks whether a tenant is charged nowhere: then forgetting it forgives nothing. */
export type IsIdle = (tenantId: string) => Promise<boolean>;

const SWEEP_BATCH = 64;

/**
 * Tenants made from a template, one for each key that is listed nowhere. Their number is bounded. Only one whose buckets
 * are full again may be forgotten; while there is none, further keys share one tenant: the template itself.
 */
export class TemplateTenants {
  readonly #tenants = new Map<string, Tenant>();
  #sweeping: Promise<void> | null = null;

  constructor(private readonly isIdle: IsIdle) {}

  /** The tenant of a key, by the key's SHA-256 (hex). The template may have changed since: its present limits count. */
  resolve(template: Tenant, keyHash: string, maxTenants: number): Tenant {
    const id = `${template.id}:${keyHash.slice(0, 16)}`;
    const known = this.#tenants.get(id);
    if (known === undefined && this.#tenants.size >= maxTenants) {
      void this.sweep();
      return template;
    }
    const tenant = known?.limits === template.limits ? known : { ...template, id, label: template.id };
    this.#tenants.delete(id);
    this.#tenants.set(id, tenant);
    return tenant;
  }

  /** Those told apart now, the least recently used first. */
  list(): readonly Tenant[] {
    return [...this.#tenants.values()];
  }

  /** Forgets idle ones among the least recently used. Only one sweep runs at a time. */
  sweep(): Promise<void> {
    this.#sweeping ??= this.#forgetIdle().finally(() => {
      this.#sweeping = null;
    });
    return this.#sweeping;
  }

  async #forgetIdle(): Promise<void> {
    for (const tenant of this.list().slice(0, SWEEP_BATCH)) {
      if (await this.isIdle(tenant.id).catch(() => false)) this.#tenants.delete(tenant.id);
      else this.#touch(tenant);
    }
  }

  /** A busy one goes to the end, so that the next sweep looks at others. */
  #touch(tenant: Tenant): void {
    if (this.#tenants.delete(tenant.id)) this.#tenants.set(tenant.id, tenant);
  }
}

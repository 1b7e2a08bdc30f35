import type { LedgerEvent, TenantTotals } from '../domain/lease.js';
import { untilTrue } from './until.js';

/** What the demo reads of `GET /status`. */
export interface StatusSeen {
  readonly leases: number;
  readonly tenants: Readonly<Record<string, { readonly tokens: { readonly remaining: number } | null; readonly usage: TenantTotals }>>;
}

/** Reads the processor's own books over its admin port. */
export interface Books {
  readonly statusUrl: string;
  status(): Promise<StatusSeen>;
  /** The event of a request, once it is settled. */
  settled(requestId: string): Promise<LedgerEvent>;
}

/** @param admin address of the admin port, `host:port`. */
export function openBooks(admin: string): Books {
  const read = async (path: string): Promise<unknown> => {
    const answer = await fetch(`http://${admin}${path}`);
    if (!answer.ok) throw new Error(`the admin port answered ${path} with ${answer.status}`);
    return answer.json();
  };
  return {
    statusUrl: `http://${admin}/status`,
    status: async () => (await read('/status')) as StatusSeen,
    settled: async (requestId) => {
      let found: LedgerEvent | undefined;
      await untilTrue(async () => {
        const { events } = (await read('/ledger?limit=100')) as { readonly events: readonly LedgerEvent[] };
        found = events.find((event) => event.requestId === requestId);
        return found !== undefined;
      });
      return found!;
    },
  };
}

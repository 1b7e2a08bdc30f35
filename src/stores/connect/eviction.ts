import type { Cluster, Redis } from 'ioredis';

/** Policies by which servers of the store would throw keys away when memory runs out: each is a limit, or a lease, that is forgotten. */
export async function evictionPolicies(client: Redis | Cluster): Promise<readonly string[]> {
  const servers = client.isCluster ? (client as Cluster).nodes('master') : [client as Redis];
  const infos = await Promise.all(servers.map((server) => server.info('memory')));
  const policies = infos.flatMap((info) => /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? []);
  return [...new Set(policies)].filter((policy) => policy !== 'noeviction');
}

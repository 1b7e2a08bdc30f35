/** How the shared state is kept, and what holds while it is away. */
export interface StoreSettings {
  readonly address: StoreAddress;
  readonly onFailure: OnStoreFailure;
  /** Longest that a request waits for the store, in milliseconds. */
  readonly timeoutMs: number;
  readonly journal: JournalSettings;
  readonly ledger: LedgerSettings;
}

/** While the store is away: own share of each limit, no limit, or nothing. */
export type OnStoreFailure = 'local' | 'open' | 'closed';

/** What is settled while the store is away, until it can be booked. */
export interface JournalSettings {
  /** Absolute path; null: in memory only. */
  readonly file: string | null;
  readonly maxBytes: number;
}

/** The durable copy of the usage ledger: JSON lines. */
export interface LedgerSettings {
  /** Absolute path; null: none. */
  readonly file: string | null;
  /** A file that grew to this is put aside and a new one begun. */
  readonly maxBytes: number;
  /** How many that were put aside are kept. */
  readonly keep: number;
}

export type StoreAddress = { readonly kind: 'memory' } | RedisAddress;

/** One server or several that are one store: Redis, Valkey, or what speaks as they do. */
export interface RedisAddress {
  readonly kind: 'redis';
  readonly topology: RedisTopology;
  /** The server; of a cluster some of its nodes; the Sentinels. */
  readonly nodes: readonly HostPort[];
  /** 0 in a cluster. */
  readonly database: number;
  readonly login: RedisLogin | null;
  /** Null: unencrypted. */
  readonly tls: RedisTls | null;
}

export type RedisTopology =
  | { readonly kind: 'standalone' }
  | { readonly kind: 'cluster' }
  | { readonly kind: 'sentinel'; readonly masterName: string; readonly login: RedisLogin | null };

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

export interface RedisLogin {
  /** Null: the server's default user. */
  readonly username: string | null;
  readonly password: string;
}

/** Absolute paths of PEM files; null: the system's authorities, no client certificate. */
export interface RedisTls {
  readonly caFile: string | null;
  readonly certFile: string | null;
  readonly keyFile: string | null;
  /** The name that the certificates must carry, where it is not the host's. */
  readonly serverName: string | null;
  /** Encrypts without knowing with whom. */
  readonly acceptAnyCertificate: boolean;
}

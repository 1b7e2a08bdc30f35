import type { Policy } from '../domain/policy.js';
import type { StoreSettings } from '../domain/store-settings.js';

/** A configuration that is whole and right: what the rest of the program sees of the file. */
export interface Config {
  readonly policy: Policy;
  readonly server: ServerSettings;
  readonly store: StoreSettings;
  /** The token itself; null: none is asked for (loopback only). */
  readonly adminToken: string | null;
  readonly logLevel: LogLevel;
  /** SHA-256 of the file's text: tells whether a change of the file is one. */
  readonly fingerprint: string;
}

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

/** Settings that only a restart changes. */
export interface ServerSettings {
  /** `host:port`, `[v6]:port` or `unix:/path`. */
  readonly extProc: string;
  /** `host:port` or `[v6]:port`. */
  readonly admin: string;
  readonly tls: { readonly extProc: TlsSettings | null; readonly admin: TlsSettings | null };
  readonly drainNoticeMs: number;
  readonly drainTimeoutMs: number;
  readonly maxBodyBytes: number;
}

/** Absolute paths of PEM files. */
export interface TlsSettings {
  readonly certFile: string;
  readonly keyFile: string;
  /** Null: clients show no certificate. */
  readonly clientCaFile: string | null;
}

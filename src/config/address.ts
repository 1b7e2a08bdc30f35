import { isIPv6 } from 'node:net';

/** Where a port listens. */
export type Address =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string };

/** Reads `host:port`, `[v6]:port` or `unix:/path`; null if it is none of them. Port 0 lets the system choose. */
export function parseAddress(text: string): Address | null {
  if (text.startsWith('unix:')) {
    const path = text.slice('unix:'.length);
    return path.startsWith('/') && path.length > 1 ? { kind: 'unix', path } : null;
  }
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)):(\d{1,5})$/.exec(text);
  if (match === null) return null;
  const [, v6, name, digits] = match;
  const port = Number(digits);
  if (port > 65_535 || (v6 !== undefined && !isIPv6(v6))) return null;
  return { kind: 'tcp', host: v6 ?? name ?? '', port };
}

/** True where only processes of this machine can connect. */
export function isLoopback(address: Address): boolean {
  if (address.kind === 'unix') return true;
  return address.host === 'localhost' || address.host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(address.host);
}

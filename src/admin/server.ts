import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Clock } from '../lib/clock.js';
import { addressText, AdminListenError, listen, tlsOptions, type ListenAddress, type TlsFiles } from './listening.js';
import { createRouter, type AdminAnswer, type AdminSources, type Router } from './routes.js';

export interface AdminOptions extends AdminSources {
  readonly listen: ListenAddress;
  /** Null: plain HTTP. */
  readonly tls: TlsFiles | null;
  /** Null: nothing needs a token. */
  readonly token: string | null;
  readonly clock: Clock;
}

export interface AdminServer {
  /** Listens. @throws AdminListenError in one sentence. */
  start(): Promise<{ readonly address: ListenAddress; readonly text: string }>;
  /** Ends within about a second, whatever clients do. Calling it again does nothing. */
  close(): Promise<void>;
}

const HTTP_LIMITS: ServerOptions = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 8_192,
};
const MAX_CONNECTIONS = 256;
const CLOSE_WITHIN_MS = 1_000;
const SECURITY_HEADERS = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' };

/** The port for people and probes: health, readiness, metrics, status. It takes no bodies and changes nothing. */
export function createAdminServer(options: AdminOptions): AdminServer {
  const { clock } = options;
  const server = httpServer(createRouter(options, options.token, clock), options.tls);
  server.maxConnections = MAX_CONNECTIONS;
  let closed: Promise<void> | null = null;
  return {
    start: async () => {
      const address = await listen(server, options.listen);
      // Faults of single connections come after this; none of them may end the process.
      server.on('error', () => undefined);
      return { address, text: addressText(address) };
    },
    close: () => (closed ??= closeServer(server, clock)),
  };
}

function httpServer(router: Router, tls: TlsFiles | null): Server {
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    void serve(router, request, response);
  };
  if (tls === null) return createHttpServer(HTTP_LIMITS, onRequest);
  try {
    return createHttpsServer({ ...HTTP_LIMITS, ...tlsOptions(tls), handshakeTimeout: 5_000 }, onRequest);
  } catch (error) {
    if (error instanceof AdminListenError) throw error;
    throw new AdminListenError(`The admin port's TLS files ${tls.certFile} and ${tls.keyFile} are no certificate with its key (PEM).`);
  }
}

async function serve(router: Router, request: IncomingMessage, response: ServerResponse): Promise<void> {
  request.on('error', () => undefined);
  response.on('error', () => undefined);
  request.resume();
  const { method = '', url: target = '' } = request;
  write(response, method, await router({ method, target, authorization: request.headers.authorization }));
}

function write(response: ServerResponse, method: string, { status, contentType, body, headers }: AdminAnswer): void {
  const length = Buffer.byteLength(body);
  response.writeHead(status, { 'content-type': contentType, 'content-length': length, ...SECURITY_HEADERS, ...headers });
  response.end(method === 'HEAD' ? undefined : body);
}

/** Idle connections end at once, busy ones when they are answered, the rest after the bound. */
function closeServer(server: Server, clock: Clock): Promise<void> {
  if (!server.listening) return Promise.resolve();
  return new Promise((resolve) => {
    const cancel = clock.after(CLOSE_WITHIN_MS, () => {
      server.closeAllConnections();
    });
    server.close(() => {
      cancel();
      resolve();
    });
    server.closeIdleConnections();
  });
}

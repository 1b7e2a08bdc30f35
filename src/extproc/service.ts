import { readFile } from 'node:fs/promises';
import { logVerbosity, Server, ServerCredentials, setLogVerbosity, status, type ServerDuplexStream } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import type { Admission } from '../admission/admission.js';
import type { Stage } from '../admission/head.js';
import type { Clock } from '../lib/clock.js';
import { decodeHeaders } from './decode-headers.js';
import { encodeReply } from './encode-reply.js';
import { externalProcessorService, type EnvoyMessage, type Reply } from './protocol.js';
import { Session } from './session.js';

/** Files of a server's certificate; with `clientCaFile` clients must show a certificate of that authority (mTLS). */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly clientCaFile: string | null;
}

export interface ProcessorOptions {
  readonly admission: Admission;
  readonly clock: Clock;
  /** `host:port` or `unix:/path`. */
  readonly listen: string;
  readonly tls: TlsFiles | null;
  /** Largest request body that is read, in bytes: a message may be a little larger. */
  readonly maxBodyBytes: number;
}

/** The ext_proc service. */
export interface Processor {
  /** Binds and serves. @returns the port, 0 for a Unix socket. Rejects with a sentence where it can't bind. */
  start(): Promise<number>;
  /** Tells health checks that no new work should come. */
  markDraining(): void;
  /** Takes no new streams and waits for those that are open; after `timeoutMs` they are cut. */
  drain(timeoutMs: number): Promise<void>;
}

const SERVICE_NAME = 'envoy.service.ext_proc.v3.ExternalProcessor';
const MESSAGE_OVERHEAD_BYTES = 1024 * 1024;

type Call = ServerDuplexStream<EnvoyMessage, Reply>;

export function createProcessor(options: ProcessorOptions): Processor {
  const { admission, clock, listen, maxBodyBytes } = options;
  const sessions = new Set<Session>();
  // Its faults reach us as values; on its own it would write them to standard error in a form of its own.
  setLogVerbosity(logVerbosity.NONE);
  const health = new HealthImplementation({ '': 'SERVING', [SERVICE_NAME]: 'SERVING' });
  const server = new Server({
    'grpc.max_receive_message_length': maxBodyBytes + MESSAGE_OVERHEAD_BYTES,
    'grpc.max_send_message_length': -1,
    // Nobody asks for it, and it counts every message: 3 % of a request's CPU.
    'grpc.enable_channelz': 0,
  });
  server.addService(quickService(), { Process: (call: Call) => serve(call, admission, sessions) });
  health.addToServer(server);
  return {
    start: async () => bind(server, listen, await credentialsOf(options.tls)),
    markDraining: () => {
      health.setStatus('', 'NOT_SERVING');
      health.setStatus(SERVICE_NAME, 'NOT_SERVING');
    },
    drain: (timeoutMs) => drain(server, sessions, clock, timeoutMs),
  };
}

/** The service, with what comes and goes on every request decoded and encoded by our own hand. */
function quickService(): ReturnType<typeof externalProcessorService> {
  const service = externalProcessorService();
  const { requestDeserialize: decode, responseSerialize: encode } = service.Process;
  const Process = {
    ...service.Process,
    requestDeserialize: (bytes: Buffer) => decodeHeaders(bytes, decode) ?? decode(bytes),
    responseSerialize: (reply: Reply) => encodeReply(reply) ?? encode(reply),
  };
  return { ...service, Process };
}

function serve(call: Call, admission: Admission, sessions: Set<Session>): void {
  const session = new Session(admission, stageOf(call), {
    send: (reply) => {
      call.write(reply);
    },
    letGo: () => {
      forgetLastMessage(call);
    },
    fail: (kind, message) => {
      const code = kind === 'session' ? status.INTERNAL : status.FAILED_PRECONDITION;
      call.emit('error', { code, details: message });
    },
  });
  sessions.add(session);
  admission.observer.streamOpened();
  const close = (): void => {
    session.close();
    if (sessions.delete(session)) admission.observer.streamClosed();
  };
  call.on('data', (message: EnvoyMessage) => {
    session.receive(message);
  });
  call.on('end', () => {
    close();
    call.end();
  });
  // Envoy ends a stream by resetting it: neither is an error of anybody.
  call.on('cancelled', close);
  call.on('error', close);
  call.on('close', close);
}

/**
 * grpc-js keeps the bytes of a stream's last message until the next one comes: of a held request its whole body, for as long as it is held.
 * Between two messages its decoder needs none of them. Where its inside is another one, they stay.
 */
function forgetLastMessage(call: Call): void {
  const { decoder } = (call as unknown as { readonly call?: { readonly decoder?: Partial<Decoder> } }).call ?? {};
  if (decoder?.readState !== BETWEEN_MESSAGES || !Array.isArray(decoder.readPartialMessage)) return;
  decoder.readPartialMessage = [];
  decoder.readCompressFlag = Buffer.alloc(1);
}

interface Decoder {
  readState: number;
  readPartialMessage: readonly Buffer[];
  readCompressFlag: Buffer;
}

const BETWEEN_MESSAGES = 0;

function stageOf(call: Call): Stage {
  const [stage] = call.metadata.get('x-tokenweir-stage');
  return stage === 'front' || stage === 'back' ? stage : 'both';
}

async function credentialsOf(tls: TlsFiles | null): Promise<ServerCredentials> {
  if (tls === null) return ServerCredentials.createInsecure();
  const [cert_chain, private_key] = await Promise.all([readFile(tls.certFile), readFile(tls.keyFile)]);
  const clientCa = tls.clientCaFile === null ? null : await readFile(tls.clientCaFile);
  return ServerCredentials.createSsl(clientCa, [{ cert_chain, private_key }], clientCa !== null);
}

function bind(server: Server, listen: string, credentials: ServerCredentials): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(listen, credentials, (error, port) => {
      if (error === null) resolve(listen.startsWith('unix:') ? 0 : port);
      else reject(new Error(`can't listen for Envoy on ${listen} (server.extProc): ${whyUnbound(error.message)}`));
    });
  });
}

function whyUnbound(message: string): string {
  if (message.includes('EADDRINUSE')) return 'something else listens there; stop it, or set another address';
  if (message.includes('EACCES')) return 'this user may not listen there';
  return message.includes('EADDRNOTAVAIL') ? 'this machine has no such address' : message;
}

/** Compressed answers that are cut at the end are still decoded, but not for longer than this. */
const BOOKED_WITHIN_MS = 1_000;

async function drain(server: Server, sessions: Set<Session>, clock: Clock, timeoutMs: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const cancelTimer = clock.after(timeoutMs, () => {
      const cut = [...sessions];
      for (const session of cut) session.close();
      server.forceShutdown();
      const cancelBooking = clock.after(BOOKED_WITHIN_MS, resolve);
      void Promise.all(cut.map((session) => session.booked())).then(() => {
        cancelBooking();
        resolve();
      });
    });
    server.tryShutdown(() => {
      cancelTimer();
      resolve();
    });
  });
}

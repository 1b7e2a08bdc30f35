import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Bytes to write, or a pause. */
export type RawPiece = string | Buffer | { readonly pauseMs: number };

export interface RawOptions {
  /** Ends the exchange early: these bytes are all that is wanted. */
  readonly enough?: (received: Buffer) => boolean;
  /** Default 10,000. */
  readonly withinMs?: number;
}

/** Speaks to a port byte by byte; returns every byte that came until the other side closed, or it was enough. Never rejects. */
export async function rawExchange(url: string, pieces: readonly RawPiece[], { enough = wholeAnswer, withinMs = 10_000 }: RawOptions = {}): Promise<Buffer> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const received: Buffer[] = [];
  const over = new Promise<void>((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      received.push(chunk);
      if (enough(Buffer.concat(received))) resolve();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => { resolve(); });
  });
  const timer = setTimeout(() => socket.destroy(), withinMs);
  await writeAll(socket, pieces);
  await over;
  clearTimeout(timer);
  socket.destroy();
  return Buffer.concat(received);
}

async function writeAll(socket: Socket, pieces: readonly RawPiece[]): Promise<void> {
  for (const piece of pieces) {
    if (typeof piece === 'object' && 'pauseMs' in piece) await delay(piece.pauseMs);
    else if (!socket.destroyed) socket.write(piece);
  }
}

/** One HTTP/1.1 message, taken apart. */
export interface RawMessage {
  /** The first line. */
  readonly start: string;
  /** Header lines, as they came. */
  readonly lines: readonly string[];
  /** The body, without the framing of its transfer. */
  readonly body: Buffer;
  /** Its end was seen. */
  readonly whole: boolean;
}

/** Takes a message apart; null while its headers are not whole. */
export function rawMessage(bytes: Buffer): RawMessage | null {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const [start = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const rest = bytes.subarray(end + 4);
  const header = (name: string): string | undefined => lines.find((line) => line.toLowerCase().startsWith(`${name}:`))?.slice(name.length + 1).trim();
  if (header('transfer-encoding')?.toLowerCase() === 'chunked') return { start, lines, ...dechunked(rest) };
  const length = Number(header('content-length') ?? (start.startsWith('HTTP/') ? Infinity : 0));
  return { start, lines, body: rest.subarray(0, length), whole: rest.length >= length };
}

function dechunked(bytes: Buffer): { body: Buffer; whole: boolean } {
  const body: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    const size = lineEnd < 0 ? NaN : parseInt(bytes.toString('latin1', at, lineEnd), 16);
    if (Number.isNaN(size) || lineEnd + 2 + size > bytes.length) return { body: Buffer.concat(body), whole: false };
    if (size === 0) return { body: Buffer.concat(body), whole: bytes.indexOf('\r\n', lineEnd + 2) >= 0 };
    body.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
}

/** True once a whole message came; never for one that only the connection's end ends. */
export function wholeAnswer(received: Buffer): boolean {
  return rawMessage(received)?.whole ?? false;
}

export interface RecordingUpstream {
  readonly port: number;
  /** The bytes of each request, as they came. */
  readonly requests: readonly Buffer[];
  /** Requests of which at least a byte came. */
  readonly begun: () => number;
  close(): Promise<void>;
}

/** A TCP server that remembers the exact bytes of each request and answers with exact bytes. */
export async function startRecordingUpstream(answer: (request: RawMessage) => readonly RawPiece[]): Promise<RecordingUpstream> {
  const requests: Buffer[] = [];
  const sockets = new Set<Socket>();
  let begun = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    let received = Buffer.alloc(0);
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (chunk: Buffer) => {
      if (received.length === 0) begun++;
      received = Buffer.concat([received, chunk]);
      const message = rawMessage(received);
      if (message?.whole !== true) return;
      requests.push(received);
      received = Buffer.alloc(0);
      void writeAll(socket, answer(message));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    requests,
    begun: () => begun,
    close: () =>
      new Promise((resolve) => {
        server.close(() => { resolve(); });
        for (const socket of sockets) socket.destroy();
      }),
  };
}

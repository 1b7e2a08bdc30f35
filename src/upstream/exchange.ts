import type { ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import { constants, createBrotliCompress, createDeflate, createGzip } from 'node:zlib';
import { onAbort } from './engine.js';
import type { RecordedRequest } from './record.js';
import type { Encoding } from './script.js';

type Headers = Readonly<Record<string, string | readonly string[]>>;

/** One answer on its way: counts what is sent, waits for slow readers, knows when the client has left. */
export class Exchange {
  readonly gone: AbortSignal;
  readonly #response: ServerResponse;
  readonly #record: RecordedRequest;
  #body: Writable;
  #compressor: FlushingCompressor | null = null;

  constructor(response: ServerResponse, record: RecordedRequest) {
    const left = new AbortController();
    this.gone = left.signal;
    this.#response = response;
    this.#record = record;
    this.#body = response;
    response.once('close', () => {
      if (!response.writableFinished) record.disconnected = true;
      left.abort();
    });
    response.on('error', () => undefined);
  }

  /** Sends status and headers at once, before any byte of the body. */
  begin(status: number, headers: Headers, encoding?: Encoding): void {
    this.#record.status = status;
    const all = { ...headers, ...(encoding === undefined ? {} : { 'content-encoding': encoding }) };
    for (const [name, value] of Object.entries(all)) this.#response.setHeader(name, value);
    this.#response.writeHead(status);
    this.#response.flushHeaders();
    if (encoding !== undefined) this.#compress(encoding);
  }

  /** Writes bytes in one go and waits while the client does not take them. */
  async write(bytes: string | Buffer): Promise<void> {
    if (this.gone.aborted) return;
    if (this.#compressor === null) return this.#send(Buffer.from(bytes));
    this.#compressor.write(bytes);
    await new Promise<void>((resolve) => this.#compressor?.flush(resolve));
  }

  async #send(bytes: Buffer): Promise<void> {
    this.#record.bytesSent += bytes.length;
    if (this.#response.write(bytes)) return;
    let forget: () => void = () => undefined;
    await new Promise<void>((resolve) => {
      this.#response.once('drain', resolve);
      forget = onAbort(this.gone, resolve);
    });
    forget();
  }

  end(): void {
    this.#body.end();
  }

  /** Sends a whole JSON body with its length. */
  json(status: number, value: unknown, headers: Headers = {}): void {
    const bytes = Buffer.from(JSON.stringify(value));
    this.begin(status, { 'content-type': 'application/json', 'content-length': String(bytes.length), ...headers });
    this.#record.bytesSent += bytes.length;
    this.#response.end(bytes);
  }

  /** Writes to the connection itself, past HTTP, and closes it. */
  raw(bytes: string | Buffer): void {
    this.#response.socket?.end(bytes);
  }

  /** Ends the connection without ending the answer. */
  cut(how: 'close' | 'reset'): void {
    if (how === 'close') this.#response.socket?.end();
    else this.#response.socket?.resetAndDestroy();
  }

  #compress(encoding: Encoding): void {
    const compressor = compressorFor(encoding);
    compressor.on('data', (bytes: Buffer) => void this.#send(bytes));
    compressor.once('end', () => this.#response.end());
    this.#compressor = compressor;
    this.#body = compressor;
  }
}

type FlushingCompressor = Writable & { flush(done: () => void): void };

function compressorFor(encoding: Encoding): FlushingCompressor {
  if (encoding === 'gzip') return createGzip({ flush: constants.Z_SYNC_FLUSH });
  if (encoding === 'deflate') return createDeflate({ flush: constants.Z_SYNC_FLUSH });
  return createBrotliCompress({ flush: constants.BROTLI_OPERATION_FLUSH });
}

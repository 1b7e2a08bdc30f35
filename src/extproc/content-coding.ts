import { createBrotliDecompress, createInflateRaw, createUnzip, type BrotliDecompress, type InflateRaw, type Unzip } from 'node:zlib';
import { Decompress } from 'fzstd';
import { zstdWindowsFit } from './zstd-frames.js';

type ZlibStream = Unzip | InflateRaw | BrotliDecompress;

/** Decodes one body as its bytes come. Calls must not overlap. Rejects when the bytes are not of that coding, or too many. */
export interface Decoder {
  push(chunk: Buffer): Promise<Buffer>;
  /** The body ended (or was cut): what the decoder still had. */
  end(): Promise<Buffer>;
  /** Frees what the decoder holds. */
  close(): void;
}

export type DecodedBody =
  | { readonly ok: true; readonly body: Buffer }
  | { readonly ok: false; readonly why: 'too_large' | 'unsupported' | 'corrupt' };

const CODINGS = new Set(['gzip', 'x-gzip', 'deflate', 'br', 'zstd']);
const MAX_CODINGS = 2;

/** The codings of a `content-encoding` header in the order they were applied; null if one of them is not known. */
export function codingsOf(header: string | undefined): string[] | null {
  // Nearly every answer: the lists below would be made for nothing (1 % of a request's CPU).
  if (header === undefined) return [];
  const names = header.toLowerCase().split(',').map((name) => name.trim());
  const codings = names.filter((name) => name !== '' && name !== 'identity');
  const known = codings.length <= MAX_CODINGS && codings.every((name) => CODINGS.has(name));
  // zstd below another coding could not be looked at before it is decoded; nobody sends that.
  return known && (codings.length === 1 || !codings.includes('zstd')) ? codings : null;
}

/** Decoders for the codings, the last applied first. `maxBytes` bounds what comes out of each, in sum. */
export function createDecoder(codings: readonly string[], maxBytes: number): Decoder {
  const stages = [...codings].reverse().map((coding) => (coding === 'zstd' ? zstdDecoder(maxBytes) : zlibDecoder(coding, maxBytes)));
  return {
    push: (chunk) => stages.reduce(async (bytes, stage) => stage.push(await bytes), Promise.resolve(chunk)),
    end: async () => {
      let rest: Buffer = Buffer.alloc(0);
      for (const stage of stages) rest = Buffer.concat([await stage.push(rest), await stage.end()]);
      return rest;
    },
    close: () => {
      for (const stage of stages) stage.close();
    },
  };
}

/** Decodes a whole body, never to more than `maxBytes`. */
export async function decodeWhole(body: Buffer, header: string | undefined, maxBytes: number): Promise<DecodedBody> {
  const codings = codingsOf(header);
  if (codings === null) return { ok: false, why: 'unsupported' };
  if (codings.length === 0) return { ok: true, body };
  if (codings.at(-1) === 'zstd' && !zstdWindowsFit(body)) return { ok: false, why: 'corrupt' };
  const decoder = createDecoder(codings, maxBytes);
  try {
    const decoded = Buffer.concat([await decoder.push(body), await decoder.end()]);
    return decoded.length > 0 ? { ok: true, body: decoded } : { ok: false, why: 'corrupt' };
  } catch (error) {
    return { ok: false, why: error instanceof TooLarge ? 'too_large' : 'corrupt' };
  } finally {
    decoder.close();
  }
}

class TooLarge extends Error {}

/** Gathers what a stage puts out, up to a bound on all of it. */
class Output {
  #chunks: Buffer[] = [];
  #total = 0;

  constructor(private readonly maxBytes: number) {}

  add(chunk: Uint8Array): void {
    this.#total += chunk.length;
    if (this.#total > this.maxBytes) throw new TooLarge(`decoded body above ${this.maxBytes} bytes`);
    this.#chunks.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length));
  }

  take(): Buffer {
    const [first, ...more] = this.#chunks;
    this.#chunks = [];
    return first !== undefined && more.length === 0 ? first : Buffer.concat(first === undefined ? [] : [first, ...more]);
  }
}

function zlibStream(coding: string, firstByte: number): ZlibStream {
  if (coding === 'br') return createBrotliDecompress();
  // Some servers send `deflate` without zlib's own header, whose first byte always ends in 8.
  return coding === 'deflate' && (firstByte & 0x0f) !== 8 ? createInflateRaw() : createUnzip();
}

function zlibDecoder(coding: string, maxBytes: number): Decoder {
  const output = new Output(maxBytes);
  let stream: ZlibStream | null = null;
  let failure: Error | null = null;
  const fail = (error: Error): void => {
    failure ??= error;
  };
  const open = (firstByte: number): ZlibStream => {
    const opened = zlibStream(coding, firstByte);
    opened.on('error', fail);
    opened.on('data', (chunk: Buffer) => {
      try {
        output.add(chunk);
      } catch (error) {
        fail(error as Error);
        opened.destroy(error as Error);
      }
    });
    return opened;
  };
  const settled = (write: (done: () => void) => void, on: ZlibStream): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      const done = (): void => {
        while (failure === null && !on.destroyed && on.read() !== null);
        on.off('close', done);
        if (failure === null) resolve(output.take());
        else reject(failure);
      };
      on.once('close', done);
      write(done);
    });
  return {
    push: (chunk) => {
      if (failure !== null) return Promise.reject(failure);
      if (chunk.length === 0) return Promise.resolve(chunk);
      const to = (stream ??= open(chunk[0]!));
      return settled((done) => to.write(chunk, () => done()), to);
    },
    end: () => {
      const from = stream;
      if (failure !== null) return Promise.reject(failure);
      if (from === null) return Promise.resolve(Buffer.alloc(0));
      return settled((done) => from.end(() => done()), from);
    },
    close: () => stream?.destroy(),
  };
}

function zstdDecoder(maxBytes: number): Decoder {
  const output = new Output(maxBytes);
  const stream = new Decompress((chunk) => {
    output.add(chunk);
  });
  return {
    push: (chunk) =>
      new Promise((resolve) => {
        if (chunk.length > 0) stream.push(chunk);
        resolve(output.take());
      }),
    end: () =>
      new Promise((resolve) => {
        stream.push(new Uint8Array(0), true);
        resolve(output.take());
      }),
    close: () => undefined,
  };
}

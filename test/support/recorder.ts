import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http';

/** One exchange as it passed. Changes while it runs. */
export interface Recorded {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  status: number | null;
  /** The answer's body so far, as text. */
  answer: string;
  /** It passed to its end; false where somebody left. */
  whole: boolean;
  /** Resolves when it is over, either way. */
  readonly over: Promise<void>;
}

export interface Recorder {
  readonly url: string;
  /** POSTs in order of arrival. */
  readonly exchanges: readonly Recorded[];
  close(): Promise<void>;
}

/** A pass-through that writes down what passes, chunk by chunk, and leaves when either side leaves. */
export async function startRecorder(targetUrl: string): Promise<Recorder> {
  const exchanges: Recorded[] = [];
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const body = Buffer.concat(chunks);
      const over = new Promise<void>((resolve) => outgoing.once('close', resolve));
      const record: Recorded = { path: incoming.url ?? '/', headers: incoming.headers, body: body.toString(), status: null, answer: '', whole: false, over };
      if (incoming.method === 'POST') exchanges.push(record);
      const headers = { ...incoming.headers, 'content-length': String(body.length) };
      delete (headers as IncomingHttpHeaders)['transfer-encoding'];
      const sent = httpRequest(`${targetUrl}${record.path}`, { method: incoming.method, headers });
      sent.on('response', (answer) => {
        record.status = answer.statusCode ?? 0;
        outgoing.writeHead(record.status, answer.rawHeaders);
        answer.on('data', (chunk: Buffer) => {
          record.answer += chunk.toString();
          outgoing.write(chunk);
        });
        answer.on('end', () => {
          record.whole = answer.complete;
          outgoing.end();
        });
        answer.on('error', () => outgoing.destroy());
      });
      sent.on('error', () => outgoing.destroy());
      outgoing.on('close', () => sent.destroy());
      sent.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    exchanges,
    close: () =>
      new Promise((resolve) => {
        server.close(() => { resolve(); });
        server.closeAllConnections();
      }),
  };
}

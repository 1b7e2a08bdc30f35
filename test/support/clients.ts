import { Agent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** A chat request's body. */
export function chat(more: Record<string, unknown> = {}): string {
  return JSON.stringify({ model: 'sim-small', messages: [{ role: 'user', content: 'Hello there, how are you?' }], max_tokens: 8, ...more });
}

export const JSON_HEADERS = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' });

/** Many requests by a plain HTTP/1.1 client that keeps its connections. */
export class LoadClient {
  readonly #agent: Agent;

  constructor(private readonly url: string, connections: number) {
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /** Opens a request; resolves with the answer when its headers are there. `begun`: gets the request, to end it early. */
  open(body: string, headers: Record<string, string>, path = '/v1/chat/completions', begun?: (sent: ClientRequest) => void): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const sent = httpRequest(`${this.url}${path}`, { method: 'POST', agent: this.#agent, headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) } });
      sent.on('response', resolve);
      sent.on('error', reject);
      sent.end(body);
      begun?.(sent);
    });
  }

  async post(body: string, headers: Record<string, string>): Promise<Answer> {
    return readAnswer(await this.open(body, headers));
  }

  /** Sends `count` requests, as many at one time as there are connections; returns how often each status came. */
  async run(count: number, body: string, headers: Record<string, string>): Promise<Record<string, number>> {
    const statuses: Record<string, number> = {};
    let left = count;
    const worker = async (): Promise<void> => {
      while (left-- > 0) {
        const name = await this.post(body, headers).then(({ status }) => String(status), () => 'failed');
        statuses[name] = (statuses[name] ?? 0) + 1;
      }
    };
    await Promise.all(Array.from({ length: this.#agent.maxSockets }, worker));
    return statuses;
  }

  close(): void {
    this.#agent.destroy();
  }
}

export async function readAnswer(incoming: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  return { status: incoming.statusCode ?? 0, headers: incoming.headers, body: Buffer.concat(chunks) };
}

export interface Http2Answer extends Answer {
  /** Null where none came. */
  readonly trailers: IncomingHttpHeaders | null;
}

/** One request over HTTP/2 (prior knowledge), with trailers if wanted. */
export function http2Post(url: string, body: string | Buffer, headers: Record<string, string>, trailers?: Record<string, string>): Promise<Http2Answer> {
  return new Promise((resolve, reject) => {
    const session = connectHttp2(url);
    session.on('error', reject);
    const stream = session.request({ ':method': 'POST', ':path': '/v1/chat/completions', ...headers }, trailers === undefined ? {} : { waitForTrailers: true });
    const chunks: Buffer[] = [];
    let head: IncomingHttpHeaders = {};
    let came: IncomingHttpHeaders | null = null;
    stream.on('wantTrailers', () => { stream.sendTrailers(trailers ?? {}); });
    stream.on('response', (received) => { head = received; });
    stream.on('trailers', (received) => { came = received; });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', reject);
    stream.on('close', () => {
      session.close();
      resolve({ status: Number(head[':status'] ?? 0), headers: head, body: Buffer.concat(chunks), trailers: came });
    });
    stream.end(body);
  });
}

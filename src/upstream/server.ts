import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../lib/clock.js';
import { Engine } from './engine.js';
import { Exchange } from './exchange.js';
import { generate } from './generate.js';
import type { SimulatedUpstreamOptions } from './options.js';
import { DEFAULT_TIMING } from './options.js';
import type { RecordedRequest, UsageTotals } from './record.js';
import type { GenerationRequest, RequestError } from './request.js';
import { isRequestError, readRequest } from './request.js';
import type { ScriptedAnswer, Tweaks } from './script.js';
import { errorJson } from './shape.js';

export interface SimulatedUpstream {
  /** Without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** What came, in order of arrival (of the whole body). */
  readonly requests: readonly RecordedRequest[];
  /** What the engine did in sum. */
  readonly usageTotals: Readonly<UsageTotals>;
  /** Sequences that run and wait now, and the most that did both together at one time. */
  readonly load: { readonly running: number; readonly queued: number; readonly mostAtOnce: number };
  /** Ends it and every connection. */
  close(): Promise<void>;
}

const LARGEST_BODY_BYTES = 64 * 1_048_576;
const DEFAULT_CONTEXT_TOKENS = 131_072;
const DEFAULT_MAX_RECORDED = 10_000;
const LISTED_MODELS = ['sim-small', 'sim-large'];

/**
 * Starts a server that answers like an OpenAI-compatible model server and takes the time that one takes. It serves
 * `/v1/chat/completions`, `/v1/completions`, `/v1/models` and `/health`.
 */
export async function createSimulatedUpstream(options: SimulatedUpstreamOptions = {}): Promise<SimulatedUpstream> {
  const upstream = new Upstream(options);
  const server = createServer((request, response) => {
    upstream.handle(request, response).catch(() => response.destroy());
  });
  // Long uploads and long streams are what this server is for.
  server.requestTimeout = 0;
  server.on('connection', (socket) => socket.setNoDelay(true));
  const host = options.host ?? '127.0.0.1';
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, host, resolve);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://${host}:${port}`,
    port,
    requests: upstream.records,
    usageTotals: upstream.totals,
    load: upstream.engine,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

class Upstream {
  readonly records: RecordedRequest[] = [];
  readonly totals: UsageTotals = { requests: 0, promptTokens: 0, completionTokens: 0 };
  readonly engine: Engine;
  readonly #options: SimulatedUpstreamOptions;
  #count = 0;

  constructor(options: SimulatedUpstreamOptions) {
    this.#options = options;
    this.engine = new Engine({ ...DEFAULT_TIMING, ...options.timing }, options.clock ?? systemClock);
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    const record = this.#remember(request, response, body);
    const exchange = new Exchange(response, record);
    const json = parseJson(body);
    const decided = this.#options.script?.({ method: record.method, path: record.path, headers: record.headers, body, json, index: record.index }) ?? null;
    if (decided?.kind === 'raw') exchange.raw(decided.bytes);
    else if (decided?.kind === 'answer') await play(decided, exchange);
    else await this.#route(record, exchange, json, decided ?? { kind: 'generate' });
  }

  async #route(record: RecordedRequest, exchange: Exchange, json: unknown, tweaks: Tweaks): Promise<void> {
    const path = record.path.split('?', 1)[0];
    const models = this.#options.models ?? LISTED_MODELS;
    if (path === '/health' || path === '/healthz') exchange.json(200, { status: 'ok' });
    else if (path === '/v1/models') exchange.json(200, { object: 'list', data: models.map((id) => ({ id, object: 'model', created: 0, owned_by: 'simulated' })) });
    else if (path === '/v1/chat/completions' && record.method === 'POST') await this.#answer(record, exchange, readRequest('chat', json), tweaks);
    else if (path === '/v1/completions' && record.method === 'POST') await this.#answer(record, exchange, readRequest('completions', json), tweaks);
    else exchange.json(404, errorJson({ status: 404, message: `there is no ${record.method} ${path ?? ''}`, param: null }));
  }

  async #answer(record: RecordedRequest, exchange: Exchange, request: GenerationRequest | RequestError, tweaks: Tweaks): Promise<void> {
    const error = isRequestError(request) ? request : this.#refusal(request);
    if (error !== null) {
      exchange.json(error.status, errorJson(error));
      return;
    }
    const accepted = request as GenerationRequest;
    if (tweaks.firstByteMs !== undefined) await delay(tweaks.firstByteMs);
    const natural = tweaks.outputTokens ?? this.#options.outputTokens ?? 48 + (accepted.seed % 128);
    const room = (this.#options.contextTokens ?? DEFAULT_CONTEXT_TOKENS) - accepted.promptTokens;
    const cap = Math.min(accepted.maxTokens ?? Infinity, room);
    await generate({
      ...{ request: accepted, tweaks, record, exchange, engine: this.engine, totals: this.totals },
      outputTokens: Math.min(natural, cap),
      finish: natural >= cap ? 'length' : 'stop',
    });
  }

  #refusal(request: GenerationRequest): RequestError | null {
    const { models, contextTokens = DEFAULT_CONTEXT_TOKENS } = this.#options;
    if (models && !models.includes(request.model)) return { status: 404, message: `the model ${request.model} does not exist`, param: 'model' };
    if (request.promptTokens >= contextTokens) {
      return { status: 400, message: `this model's maximum context length is ${contextTokens} tokens, the prompt has ${request.promptTokens}`, param: 'messages' };
    }
    return this.engine.isFull ? { status: 503, message: 'the engine is overloaded', param: null } : null;
  }

  #remember(request: IncomingMessage, response: ServerResponse, body: Buffer): RecordedRequest {
    const record: RecordedRequest = {
      ...{ index: this.#count++, method: request.method ?? 'GET', path: request.url ?? '/', headers: request.headers, body },
      ...{ status: null, bytesSent: 0, promptTokens: 0, completionTokens: 0, disconnected: false },
      ended: new Promise((resolve) => {
        if (response.closed) resolve();
        else response.once('close', resolve);
      }),
    };
    this.records.push(record);
    if (this.records.length > (this.#options.maxRecorded ?? DEFAULT_MAX_RECORDED)) this.records.shift();
    return record;
  }
}

async function play(answer: ScriptedAnswer, exchange: Exchange): Promise<void> {
  if (answer.firstByteMs !== undefined) await delay(answer.firstByteMs);
  exchange.begin(answer.status ?? 200, { 'content-type': 'text/event-stream', ...answer.headers }, answer.encoding);
  for await (const piece of answer.pieces) {
    if (exchange.gone.aborted) return;
    if (typeof piece === 'object' && 'pauseMs' in piece) await delay(piece.pauseMs);
    else await exchange.write(piece);
  }
  if (answer.end === 'close' || answer.end === 'reset') exchange.cut(answer.end);
  else if (answer.end !== 'never') exchange.end();
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > LARGEST_BODY_BYTES) throw new Error('the body is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}

import { request, type IncomingMessage } from 'node:http';

/** One request to be sent at a time. */
export interface Job {
  readonly atMs: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
}

export interface Served {
  readonly job: Job;
  readonly ttftMs: number;
  readonly latencyMs: number;
}

const VOCABULARY = { first: 2000, size: 50_000 };

/** Sends requests of exact lengths to a llama.cpp server. */
export class Llama {
  readonly #url: string;
  #prompts = 0;

  constructor(url: string) {
    this.#url = url;
  }

  /** Each at its time, whatever the others do. */
  async serve(jobs: readonly Job[]): Promise<Served[]> {
    const startMs = performance.now();
    return Promise.all(
      jobs.map(async (job) => {
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, startMs + job.atMs - performance.now())));
        return this.#one(job, startMs + job.atMs);
      }),
    );
  }

  /** @param askedMs when it was due: what this process was late counts too. */
  async #one(job: Job, askedMs: number): Promise<Served> {
    const body = { prompt: this.#prompt(job.promptTokens), n_predict: job.outputTokens, ignore_eos: true, cache_prompt: false, temperature: 0, stream: true };
    const response = await post(`${this.#url}/completion`, JSON.stringify(body));
    if (response.statusCode !== 200) throw new Error(`the server answers ${response.statusCode}`);
    let ttftMs = NaN;
    for await (const _ of response) {
      void _;
      if (Number.isNaN(ttftMs)) ttftMs = performance.now() - askedMs;
    }
    return { job, ttftMs, latencyMs: performance.now() - askedMs };
  }

  /** Token ids, no two prompts alike, so that nothing is cached. */
  #prompt(tokens: number): number[] {
    const offset = this.#prompts++;
    return Array.from({ length: tokens }, (_, i) => VOCABULARY.first + ((offset * 7919 + i * 104_729) % VOCABULARY.size));
  }
}

/** On a connection of its own: the server closes idle ones without notice. */
function post(url: string, body: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    request(url, { method: 'POST', agent: false, headers }, resolve).on('error', reject).end(body);
  });
}

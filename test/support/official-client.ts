import OpenAI from 'openai';

/** One HTTP request as the official client made it. */
export interface Attempt {
  readonly sentAtMs: number;
  readonly status: number;
  readonly headers: Headers;
  /** The body of an answer that is an error, as JSON; null of others. */
  readonly refusal: unknown;
}

export interface OfficialClient {
  readonly openai: OpenAI;
  /** Every request that went out and was answered, retries included. */
  readonly attempts: readonly Attempt[];
}

/** The official client as users set it up, with an ear on what it sends. `maxRetries`: its own default is 2. */
export function officialClient(url: string, apiKey: string, maxRetries = 2): OfficialClient {
  const attempts: Attempt[] = [];
  const listening: typeof fetch = async (input, init) => {
    const sentAtMs = performance.now();
    const answer = await fetch(input, init);
    const refusal: unknown = answer.ok ? null : await answer.clone().json();
    attempts.push({ sentAtMs, status: answer.status, headers: answer.headers, refusal });
    return answer;
  };
  return { openai: new OpenAI({ apiKey, baseURL: `${url}/v1`, maxRetries, fetch: listening }), attempts };
}

/** What the told wait and the time between two attempts were. */
export function waited([first, second]: readonly Attempt[]): { toldMs: number; tookMs: number } {
  if (first === undefined || second === undefined) throw new Error('there was no second attempt');
  return { toldMs: Number(first.headers.get('retry-after-ms')), tookMs: second.sentAtMs - first.sentAtMs };
}

/** What a call was rejected with. */
export function rejection(call: PromiseLike<unknown>): Promise<unknown> {
  return Promise.resolve(call).then(
    () => Promise.reject(new Error('the call was expected to fail')),
    (error: unknown) => error,
  );
}

/** One chat request, as a client sends it. */
export interface ChatRequest {
  readonly model: string;
  readonly prompt: string;
  /** Output cap in tokens. */
  readonly maxTokens: number;
  readonly stream: boolean;
  readonly extraBody: object;
  /** Asks for usage in the stream by itself. */
  readonly asksForUsage?: boolean;
  /** Leaves after so many pieces of the answer … */
  readonly leavesAfter?: number;
  /** … and calls this before it does. */
  readonly beforeLeaving?: () => Promise<void>;
}

/** Why a request was refused, as the client is told. */
export interface ToldRefusal {
  readonly limit: string;
  /** Tokens the request would have needed. */
  readonly needed: number;
  readonly message: string;
}

/** What a client gets to see. */
export interface ChatAnswer {
  readonly status: number;
  /** `x-tokenweir-request-id`; null without. */
  readonly requestId: string | null;
  /** `Retry-After` in seconds; null without. */
  readonly retryAfterSeconds: number | null;
  /** `retry-after-ms`: the same wait, not rounded up to seconds; null without. */
  readonly retryAfterMs: number | null;
  /** Pieces of text that came. */
  readonly pieces: number;
  /** A usage object was among what came. */
  readonly sawUsage: boolean;
  /** The client left before the end. */
  readonly left: boolean;
  readonly refusal: ToldRefusal | null;
}

/** Sends a chat request to Envoy with plain HTTP and reads the answer to its end, or until the client leaves. */
export async function chat(url: string, key: string, request: ChatRequest, signal: AbortSignal): Promise<ChatAnswer> {
  const leaving = new AbortController();
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(bodyOf(request)),
    signal: AbortSignal.any([signal, leaving.signal]),
  });
  const head = headOf(response);
  if (!response.ok || !request.stream || response.body === null) return { ...head, ...wholeAnswer(await response.text()), left: false };
  return { ...head, ...(await readStream(response.body, request, leaving)), refusal: null };
}

function bodyOf({ model, prompt, maxTokens, stream, asksForUsage = false, extraBody }: ChatRequest): object {
  const options = asksForUsage ? { stream_options: { include_usage: true } } : {};
  return { model, messages: [{ role: 'user', content: prompt }], max_tokens: maxTokens, stream, ...options, ...extraBody };
}

function headOf({ status, headers }: Response): Pick<ChatAnswer, 'status' | 'requestId' | 'retryAfterSeconds' | 'retryAfterMs'> {
  return {
    status,
    requestId: headers.get('x-tokenweir-request-id'),
    retryAfterSeconds: numberOrNull(headers.get('retry-after')),
    retryAfterMs: numberOrNull(headers.get('retry-after-ms')),
  };
}

function numberOrNull(text: string | null): number | null {
  return text === null || Number.isNaN(Number(text)) ? null : Number(text);
}

/** What is looked at in a body or an event. */
interface Told {
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
  readonly usage?: object | null;
  readonly error?: { readonly message?: string };
  readonly tokenweir?: { readonly limit?: string; readonly needed?: number };
}

function wholeAnswer(text: string): Pick<ChatAnswer, 'pieces' | 'sawUsage' | 'refusal'> {
  const told = toldIn(text);
  const { limit, needed } = told.tokenweir ?? {};
  const refusal = limit === undefined ? null : { limit, needed: needed ?? 0, message: told.error?.message ?? '' };
  return { pieces: told.choices?.length ?? 0, sawUsage: hasUsage(told), refusal };
}

async function readStream(body: ReadableStream<Uint8Array>, request: ChatRequest, leaving: AbortController): Promise<Pick<ChatAnswer, 'pieces' | 'sawUsage' | 'left'>> {
  let pieces = 0;
  let sawUsage = false;
  for await (const told of events(body)) {
    if (told.choices?.[0]?.delta?.content) pieces++;
    sawUsage ||= hasUsage(told);
    if (pieces !== request.leavesAfter) continue;
    await request.beforeLeaving?.();
    leaving.abort();
    return { pieces, sawUsage, left: true };
  }
  return { pieces, sawUsage, left: false };
}

/** The JSON of each event of a stream, as it comes. */
async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<Told> {
  let rest = '';
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('data: {')) yield toldIn(line.slice('data: '.length));
  }
}

function toldIn(text: string): Told {
  try {
    return JSON.parse(text) as Told;
  } catch {
    return {};
  }
}

function hasUsage({ usage }: Told): boolean {
  return usage !== undefined && usage !== null;
}

/** What the bench sends. The key's hash stands in the processor's configuration. */
export const KEY = 'bench-key';
export const MODEL = 'sim-small';

/** What the upstream does with a request: one JSON answer, or a stream. Travels as a header. */
export type Answer = { readonly kind: 'json' } | { readonly kind: 'stream'; readonly events: number; /** 0: as fast as it goes. */ readonly everyMs: number };

export const ANSWER_HEADER = 'x-bench-answer';

export function answerText(answer: Answer): string {
  return answer.kind === 'json' ? 'json' : `${answer.events}/${answer.everyMs}`;
}

export function parseAnswer(head: string): Answer {
  const match = new RegExp(`\r\n${ANSWER_HEADER}: (\\d+)/(\\d+)`, 'i').exec(head);
  return match === null ? { kind: 'json' } : { kind: 'stream', events: Number(match[1]), everyMs: Number(match[2]) };
}

const SENTENCE = 'The river runs past the old mill, and nobody in the village knows who built it or when. ';

/** A chat body of so many bytes; like most clients it does not ask for usage. */
export function chatBody(bytes: number, stream: boolean): string {
  const make = (text: string): string =>
    JSON.stringify({
      model: MODEL,
      messages: [{ role: 'system', content: 'You are a helpful assistant.' }, { role: 'user', content: text }],
      temperature: 0.7,
      max_tokens: 256,
      stream,
    });
  return make(SENTENCE.repeat(Math.ceil(bytes / SENTENCE.length)).slice(0, bytes - make('').length));
}

/** A whole request, with the headers that the official Node client sends. */
export function requestBytes(bodyBytes: number, answer: Answer): Buffer {
  const body = chatBody(bodyBytes, answer.kind === 'stream');
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    'host: bench.local',
    `authorization: Bearer ${KEY}`,
    'accept: application/json',
    'content-type: application/json',
    'user-agent: OpenAI/JS 7.59.0',
    'x-stainless-lang: js',
    'x-stainless-package-version: 7.59.0',
    'x-stainless-os: Linux',
    'x-stainless-arch: x64',
    'x-stainless-runtime: node',
    'x-stainless-runtime-version: v20.20.0',
    'x-stainless-retry-count: 0',
    `${ANSWER_HEADER}: ${answerText(answer)}`,
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

const CHUNK_START = '{"id":"chatcmpl-BenchBenchBenchBenchBench","object":"chat.completion.chunk","created":1764400000,"model":"sim-small","service_tier":"default","system_fingerprint":"fp_bench",';
const USAGE = '"usage":{"prompt_tokens":230,"completion_tokens":50,"total_tokens":280,"prompt_tokens_details":{"cached_tokens":0}}';

/** One token of a streamed answer, as OpenAI sends it. */
export const TOKEN_EVENT = `data: ${CHUNK_START}"choices":[{"index":0,"delta":{"content":" river"},"logprobs":null,"finish_reason":null}]}\n\n`;
export const USAGE_EVENT = `data: ${CHUNK_START}"choices":[],${USAGE}}\n\n`;
export const DONE_EVENT = 'data: [DONE]\n\n';

/** A small JSON answer. */
export const JSON_ANSWER = `{"id":"chatcmpl-BenchBenchBenchBenchBench","object":"chat.completion","created":1764400000,"model":"sim-small","choices":[{"index":0,"message":{"role":"assistant","content":"Nobody knows who built it.","refusal":null},"logprobs":null,"finish_reason":"stop"}],${USAGE},"system_fingerprint":"fp_bench"}`;

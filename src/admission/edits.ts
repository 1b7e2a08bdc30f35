import type { Level } from '../domain/lease.js';
import { reasonOf, type LocalAnswer, type Refusal } from '../domain/refusal.js';
import type { Api } from '../domain/request.js';
import type { Framing } from '../domain/wire.js';
import { rateLimitHeaders, tighter } from '../quota/rate-limit-headers.js';
import { refusalOf, type Route } from '../wire/routes.js';
import { spoofedHeaders, type HeaderEdits, type RequestHead, type ResponseHead } from './head.js';

/** What goes upstream with an admitted request. Answers that are counted must come uncompressed. */
export function upstreamEdits(head: RequestHead, requestId: string, traceParent: string | null): HeaderEdits {
  const set: [string, string][] = [['x-tokenweir-request-id', requestId]];
  // It was judged as JSON. LiteLLM reads it as a form where it is called one, and the same bytes can be both.
  if (/form/i.test(head.headers.get('content-type') ?? '')) set.push(['content-type', 'application/json']);
  if (traceParent !== null) set.push(['traceparent', traceParent]);
  const remove = spoofedHeaders(head.headers).filter((name) => name !== 'x-tokenweir-request-id');
  return { set, remove: [...remove, 'accept-encoding'] };
}

/** What goes upstream with a request that is not metered. */
export function passEdits(head: RequestHead): HeaderEdits {
  return { set: [], remove: spoofedHeaders(head.headers) };
}

/** What an admitted request's answer tells the client: who we say it was, and how much is left. */
export function answerEdits(response: ResponseHead, requestId: string, levels: readonly Level[], waitMs: number): HeaderEdits {
  const limits = tighter(rateLimitHeaders(levels), (name) => response.headers.get(name));
  return { set: [...ownHeaders(requestId, 'admitted', waitMs), ...limits], remove: [] };
}

/** A refusal in the shape of the API that was called (OpenAI's where the path tells none), with our headers. */
export function refusalAnswer(route: Route, refusal: Refusal, levels: readonly Level[], waitMs: number): LocalAnswer {
  const answer = route.kind === 'metered' ? route.api.refuse(refusal) : refusalOf(route.family, refusal);
  const decision = `refused; reason=${reasonOf(refusal)}`;
  return { ...answer, headers: [...answer.headers, ...ownHeaders(refusal.requestId, decision, waitMs), ...rateLimitHeaders(levels)] };
}

function ownHeaders(requestId: string, decision: string, waitMs: number): [string, string][] {
  return [
    ['x-tokenweir-request-id', requestId],
    ['x-tokenweir-decision', decision],
    ['x-tokenweir-wait-ms', String(Math.round(waitMs))],
  ];
}

const FRAMINGS: readonly (readonly [RegExp, Framing])[] = [
  [/^\s*text\/event-stream\b/i, 'sse'],
  [/^\s*application\/vnd\.amazon\.eventstream\b/i, 'eventstream'],
  [/^\s*application\/(x-)?(ndjson|jsonl|jsonlines|json-lines)\b/i, 'ndjson'],
  [/\bjson\b/i, 'json'],
];

/** How streams of an API come that are no server-sent events. Gemini's is one JSON list, unless `alt=sse` asked for events. */
const STREAMS: Partial<Record<Api, Framing>> = {
  'bedrock-converse': 'eventstream',
  'bedrock-invoke': 'eventstream',
  'ollama-chat': 'ndjson',
  'ollama-generate': 'ndjson',
  'gemini-generate-content': 'json',
};

/** How an answer's body is framed: by its content type, else by the API and what was asked of it. */
export function framingOf(response: ResponseHead, api: Api, streamAsked: boolean): Framing {
  const type = response.headers.get('content-type') ?? '';
  const told = FRAMINGS.find(([pattern]) => pattern.test(type))?.[1];
  return told ?? (streamAsked ? (STREAMS[api] ?? 'sse') : 'json');
}

/** Whether an answer comes as it is made: a list in JSON does where a stream was asked for that comes as one. */
export function isStreamed(framing: Framing, api: Api, streamAsked: boolean): boolean {
  return framing !== 'json' || (streamAsked && STREAMS[api] === 'json');
}

/** Far below any buffer on the way, and more than nearly all answers that are not streamed. */
const SHORT_BYTES = 256 * 1024;

/** Whether an answer's body is known to be short. */
export function isShort(response: ResponseHead): boolean {
  const length = response.headers.get('content-length');
  return length !== undefined && Number(length) <= SHORT_BYTES;
}

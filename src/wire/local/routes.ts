import type { WireApi } from '../../domain/wire.js';
import { embedding, generate, invocations, llamaCompletion, llamaInfill, rerank, score } from './local.js';

const ROUTES: ReadonlyMap<string, WireApi> = new Map([
  ['/completion', llamaCompletion],
  ['/infill', llamaInfill],
  ...['/rerank', '/v1/rerank', '/v2/rerank', '/reranking', '/v1/reranking'].map((path): [string, WireApi] => [path, rerank]),
  ...['/score', '/v1/score'].map((path): [string, WireApi] => [path, score]),
  ...['/embedding', '/pooling', '/classify', '/embed', '/v1/embed', '/v2/embed'].map((path): [string, WireApi] => [path, embedding]),
  ['/generate', generate(false)],
  ['/generate_stream', generate(true)],
  ['/invocations', invocations],
]);

/** The API of a model server's own (vLLM, llama.cpp, TGI, SGLang, TEI) that a path calls; null where it is none. */
export function localRoute(path: string): WireApi | null {
  return ROUTES.get(path) ?? null;
}

import type { WireApi } from '../../domain/wire.js';
import { anthropicMessages, anthropicOnVertex } from './messages.js';

/** Vertex serves it for a project, with or without a version before it. */
const ON_VERTEX = /^(?:\/v\d+(?:(?:alpha|beta)\d*)?)?(?:\/projects\/[^/]+\/locations\/[^/]+)?\/publishers\/anthropic\/models\/(?<model>[^/:]+):(?<method>rawPredict|streamRawPredict)$/;

/** Under this name Vertex counts the tokens of a prompt, which runs no model. */
const COUNT_TOKENS = /^count-tokens(@|$)/;

/** The API at a path in its normal form, without a gateway's prefix; null for a path that is not Anthropic's. */
export function anthropicRoute(path: string): WireApi | null {
  if (path === '/v1/messages' || path === '/messages') return anthropicMessages;
  const { model, method } = ON_VERTEX.exec(path)?.groups ?? {};
  return model === undefined || COUNT_TOKENS.test(model) ? null : anthropicOnVertex(model, method === 'streamRawPredict');
}

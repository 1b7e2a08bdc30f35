import type { WireApi } from '../../domain/wire.js';
import { openaiApi, type OpenAiApi } from './openai.js';

/** What may stand before the API's own path: nothing, the version, the names that gateways give to OpenAI's API, and those of Azure and Gemini. */
const PREFIXES = ['', '/v1', '/openai', '/openai/v1', '/api', '/api/v1', '/models', '/v1beta/openai'];

/** The APIs' own paths. The more special ones first: a path may end in two of them. */
const ENDS: readonly (readonly [end: string, api: OpenAiApi])[] = [
  ['/extensions/chat/completions', 'openai-chat'],
  ['/chat/completions', 'openai-chat'],
  ['/completions', 'openai-completions'],
  ['/responses/compact', 'openai-responses'],
  ['/responses', 'openai-responses'],
  ['/embeddings', 'openai-embeddings'],
];

/** A path of Ollama's own API. */
const NOT_OURS = '/api/embeddings';

const ROUTES: ReadonlyMap<string, WireApi> = new Map(
  PREFIXES.flatMap((prefix) => ENDS.map(([end, api]): [string, WireApi] => [`${prefix}${end}`, openaiApi(api, null)])).filter(([path]) => path !== NOT_OURS),
);

/** Before a model's name, where the path has one. */
const DEPLOYMENTS = ['/openai/deployments/', '/engines/', '/v1/engines/'];

/** The API at a path in its normal form, without a gateway's prefix; null for a path that is not OpenAI's. */
export function openaiRoute(path: string): WireApi | null {
  return ROUTES.get(path) ?? deploymentOf(path);
}

/** `/openai/deployments/MODEL/…` (Azure) and `/engines/MODEL/…`, which LiteLLM serves too; a model's name may hold slashes. */
function deploymentOf(path: string): WireApi | null {
  const prefix = DEPLOYMENTS.find((start) => path.startsWith(start));
  const known = ENDS.find(([end]) => path.endsWith(end));
  if (prefix === undefined || known === undefined) return null;
  const [end, api] = known;
  return path.length > prefix.length + end.length ? openaiApi(api, path.slice(prefix.length, -end.length)) : null;
}

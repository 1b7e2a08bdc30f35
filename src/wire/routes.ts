import type { Api } from '../domain/request.js';
import type { WireApi } from '../domain/wire.js';
import { openaiChat, openaiCompletions, openaiDeployment } from './openai/openai.js';

/** What may stand before the API's own path: nothing, the version, and the names that gateways give to OpenAI's API. */
const PREFIXES = ['', '/v1', '/openai', '/openai/v1', '/api', '/api/v1'];

const ROUTES: ReadonlyMap<string, WireApi> = new Map(
  PREFIXES.flatMap((prefix): [string, WireApi][] => [
    [`${prefix}/chat/completions`, openaiChat],
    [`${prefix}/completions`, openaiCompletions],
  ]),
);

const DEPLOYMENTS = ['/openai/deployments/', '/engines/'];
const ENDS: readonly (readonly [string, Api])[] = [['/chat/completions', 'openai-chat'], ['/completions', 'openai-completions']];

/**
 * The API that a request calls; null for one that we do not read. The path is compared in its normal form, because a
 * server behind us may take other spellings for the same path and they must not be a way past the limits. For the same
 * reason no length is too long: Envoy bounds all headers to 60 KiB, and the work is linear.
 */
export function routeOf(method: string, path: string): WireApi | null {
  if (method !== 'POST') return null;
  const known = ROUTES.get(path);
  if (known !== undefined) return known;
  const normal = normalPath(path);
  return ROUTES.get(normal) ?? deploymentOf(normal);
}

/** `/openai/deployments/MODEL/…` (Azure) and `/engines/MODEL/…`, which LiteLLM serves too; a model's name may hold slashes. */
function deploymentOf(path: string): WireApi | null {
  const prefix = DEPLOYMENTS.find((start) => path.startsWith(start));
  if (prefix === undefined) return null;
  for (const [end, api] of ENDS) {
    if (path.endsWith(end) && path.length > prefix.length + end.length) return openaiDeployment(api, path.slice(prefix.length, -end.length));
  }
  return null;
}

/** Without query and fragment, percent escapes decoded once, no empty or dot segments, no slash at the end. Case stays. */
export function normalPath(path: string): string {
  const plain = decoded(path.split(/[?#]/, 1)[0] ?? '').replaceAll('\\', '/');
  const segments: string[] = [];
  for (const segment of plain.split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
  }
  return `/${segments.join('/')}`;
}

/** Each escape of one ASCII character; all others stay as they are. */
function decoded(path: string): string {
  return path.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
}

import type { UnmeteredKind } from '../domain/decision.js';
import type { LocalAnswer, Refusal } from '../domain/refusal.js';
import type { WireApi } from '../domain/wire.js';
import { anthropicRefusal } from './anthropic/refusal.js';
import { anthropicRoute } from './anthropic/routes.js';
import { bedrockRefusal } from './bedrock/refusal.js';
import { bedrockRoute } from './bedrock/routes.js';
import { geminiRefusal } from './gemini/refusal.js';
import { geminiRoute } from './gemini/routes.js';
import { localRoute } from './local/routes.js';
import { ollamaRefusal } from './ollama/refusal.js';
import { ollamaRoute } from './ollama/routes.js';
import { openAiRefusal } from './openai/refusal.js';
import { openaiRoute } from './openai/routes.js';
import { unmeteredKind } from './unmetered.js';

/** Whose API a path belongs to, as far as it shows: it decides on the shape of refusals, and on where a key may stand. */
export type Family = 'openai' | 'anthropic' | 'bedrock' | 'gemini' | 'ollama';

/** What a request's method and path say. */
export type Route =
  | { readonly kind: 'metered'; readonly api: WireApi; readonly family: Family }
  | { readonly kind: 'unmetered'; readonly what: UnmeteredKind; readonly family: Family }
  | { readonly kind: 'unknown'; readonly family: Family };

/** Each provider's own table. A path is in one of them at most. */
const TABLES: readonly ((path: string) => WireApi | null)[] = [openaiRoute, anthropicRoute, bedrockRoute, geminiRoute, ollamaRoute, localRoute];

/**
 * Prefixes under which LiteLLM hands requests to a provider as they came (`mapped_pass_through_routes` of its 1.106.2), and those of
 * other gateways. What is under them and no table knows is `pass_through`.
 */
const PASS_THROUGH: ReadonlySet<string> = new Set([
  ...['anthropic', 'assemblyai', 'azure', 'azure_ai', 'azure_speech', 'bedrock', 'bespoke', 'cohere', 'comprehendmedical', 'cursor', 'deepgram', 'eu.assemblyai', 'fal_ai'],
  ...['gemini', 'gigachat', 'google_ai_studio', 'groq', 'langfuse', 'laya', 'milvus', 'mistral', 'nvidia_nim', 'openai', 'openai_passthrough', 'openrouter', 'tinyfish'],
  ...['transcribe', 'typesafe', 'vertex-ai', 'vertex_ai', 'vllm', 'watsonx'],
]);

/** Below it LiteLLM takes bodies of responses on the path of chat: what is read as the one may be run as the other. */
const TWO_APIS = 'cursor';

/** Prefixes that say nothing: a mount point, or a version before another one. */
const MOUNTS: ReadonlySet<string> = new Set(['api', 'claude_code_gateway', 'inference', 'llm', 'ollama']);
const VERSION_BEFORE = /^\/(v1|v1beta)\/(v1|v1beta|api|openai)\//;

/** With these an API's own path begins, under whatever name a gateway is mounted. */
const UNMISTAKABLE = ['/v1/', '/v1beta/', '/model/', '/openai/'];

/** Each prefix may stand before another. */
const MAX_PREFIXES = 4;

/**
 * What a request calls. The path is compared in its normal form, because a server behind us may take other spellings for the same
 * path and they must not be a way past the limits. For the same reason no length is too long: Envoy bounds all headers to 60 KiB, and
 * the work is linear. Bodies never decide.
 */
export function routeOf(method: string, path: string): Route {
  const usual = method === 'POST' ? USUAL.get(path) : undefined;
  if (usual !== undefined) return usual;
  const route = lookUp(method, path);
  // Few servers take such spellings, but what those would take is no path that nothing is known of.
  const disguised = route.kind === 'unknown' && looseSpellings(path).some((spelling) => lookUp(method, spelling).kind !== 'unknown');
  return disguised ? { kind: 'unmetered', what: 'other', family: route.family } : route;
}

/** Escapes within escapes that are followed; more than any chain of servers does. */
const MOST_ESCAPED = 3;

/**
 * A path as the most generous servers take it: without parameters behind `;` (servlet containers), without dots and blanks at the end of
 * a segment (Windows), with escapes decoded as often as there are some (chains of proxies), and in lower case (Azure).
 */
function looseSpellings(path: string): readonly string[] {
  let plain = path.split(/[?#]/, 1)[0] ?? '';
  for (let times = 0; times < MOST_ESCAPED && plain.includes('%'); times++) plain = decoded(plain);
  const loose = plain.replaceAll('\\', '/').split('/').map(looseSegment).join('/');
  const lower = loose.toLowerCase();
  return lower === loose ? [loose] : [loose, lower];
}

function looseSegment(segment: string): string {
  if (segment === '..') return segment;
  const semicolon = segment.indexOf(';');
  let end = semicolon < 0 ? segment.length : semicolon;
  while (end > 0 && (segment.charCodeAt(end - 1) <= BLANK || segment[end - 1] === '.')) end--;
  return segment.slice(0, end);
}

const BLANK = 0x20;

function lookUp(method: string, path: string): Route {
  const { candidates, prefix } = withoutPrefixes(normalPath(path));
  const family = familyOf(candidates, prefix);
  const api = prefix === TWO_APIS ? null : firstOf(candidates, (candidate) => firstOf(TABLES, (table) => table(candidate)));
  if (api !== null && method === 'POST') return { kind: 'metered', api, family: familyOfApi(api) };
  // By another method a server may do the work all the same, or be told by a header that POST is meant.
  const what = firstOf(candidates, unmeteredKind) ?? (prefix !== null ? 'pass_through' : api !== null ? 'other' : null);
  return what === null ? { kind: 'unknown', family } : { kind: 'unmetered', what, family };
}

/** A refusal in the words of that family. */
export function refusalOf(family: Family, refusal: Refusal): LocalAnswer {
  return REFUSALS[family](refusal);
}

const REFUSALS: Record<Family, (refusal: Refusal) => LocalAnswer> = {
  openai: openAiRefusal,
  anthropic: anthropicRefusal,
  bedrock: bedrockRefusal,
  gemini: geminiRefusal,
  ollama: ollamaRefusal,
};

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

/**
 * The path as it is, then without each prefix, one after the other, and last from where it is unmistakable on. `prefix`: the first one that hands to a provider.
 */
function withoutPrefixes(path: string): { candidates: readonly string[]; prefix: string | null } {
  const candidates = [path];
  let prefix: string | null = null;
  let rest = path;
  for (let i = 0; i < MAX_PREFIXES; i++) {
    const end = rest.indexOf('/', 1);
    const first = rest.slice(1, end < 0 ? undefined : end);
    const passes = PASS_THROUGH.has(first);
    if (!passes && !MOUNTS.has(first) && !VERSION_BEFORE.test(rest)) break;
    if (passes) prefix ??= first;
    if (end < 0) break;
    rest = rest.slice(end);
    candidates.push(rest);
  }
  for (const start of UNMISTAKABLE) {
    const at = path.indexOf(start, 1);
    if (at > 0) candidates.push(path.slice(at));
  }
  return { candidates, prefix };
}

function firstOf<A, B>(values: readonly A[], look: (value: A) => B | null): B | null {
  for (const value of values) {
    const found = look(value);
    if (found !== null) return found;
  }
  return null;
}

const FAMILY_OF_PREFIX: Readonly<Record<string, Family>> = {
  anthropic: 'anthropic', bedrock: 'bedrock', gemini: 'gemini', google_ai_studio: 'gemini', 'vertex-ai': 'gemini', vertex_ai: 'gemini',
};
/** How paths of a family begin, wherever they are mounted. */
const FAMILY_STARTS: readonly (readonly [Family, RegExp])[] = [
  ['anthropic', /^(\/v1)?\/(messages(\/|$)|complete$)/],
  ['bedrock', /^\/(model|guardrail|model-invocation-jobs?|async-invoke|model-customization-jobs)(\/|$)/],
  ['gemini', /^\/v1beta\d*\/(?!openai\/)|^\/v1\/projects\/|^\/(v1\/)?(models|tunedModels)\/[^/]+:|BidiGenerateContent|^\/upload\/v1/],
  ['ollama', /^\/api\/(chat|generate|embed|embeddings|pull|push|create|copy|delete|show)$/],
];

function familyOf(candidates: readonly string[], prefix: string | null): Family {
  const named = prefix === null ? undefined : FAMILY_OF_PREFIX[prefix];
  if (named !== undefined) return named;
  return FAMILY_STARTS.find(([, start]) => candidates.some((candidate) => start.test(candidate)))?.[0] ?? 'openai';
}

function familyOfApi({ api }: WireApi): Family {
  const name = api.slice(0, api.indexOf('-'));
  return name === 'anthropic' || name === 'bedrock' || name === 'gemini' || name === 'ollama' ? name : 'openai';
}

/** The paths of most requests, spelled as they should be: known without any work. */
const USUAL: ReadonlyMap<string, Route> = new Map(
  ['/v1/chat/completions', '/v1/completions', '/v1/responses', '/v1/embeddings', '/v1/messages'].map((path) => [path, lookUp('POST', path)]),
);

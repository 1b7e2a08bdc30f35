import { existsSync, readFileSync } from 'node:fs';
import type { RequestFacts } from '../../src/domain/request.js';
import { routeOf } from '../../src/wire/routes.js';

/** One recorded request and the tokens that its provider counted. */
export interface Pair {
  readonly id: string;
  readonly provider: string;
  readonly model: string;
  readonly tokens: number;
  readonly tools: boolean;
  readonly media: boolean;
  readonly opaque: boolean;
  readonly facts: RequestFacts;
}

interface Line {
  readonly id: string;
  readonly provider: string;
  readonly model: string;
  readonly url_path: string | null;
  readonly true_input_tokens: number;
  readonly tools: boolean;
  readonly images_or_files: boolean;
  readonly opaque_history: boolean;
  readonly request: Readonly<Record<string, unknown>>;
}

/** Where a record has no path. */
const PATHS: Readonly<Record<string, string>> = { 'openai-chat': '/v1/chat/completions', 'openai-completions': '/v1/completions', 'openai-embeddings': '/v1/embeddings' };

/** The recorded requests that our own parsers read; null where the file is missing. `unread`: those that they do not. */
export function readPairs(file: string): { readonly pairs: readonly Pair[]; readonly unread: readonly string[] } | null {
  if (!existsSync(file)) return null;
  const pairs: Pair[] = [];
  const unread: string[] = [];
  for (const text of readFileSync(file, 'utf8').trim().split('\n')) {
    const line = JSON.parse(text) as Line;
    const facts = factsOf(line);
    if (typeof facts === 'string') unread.push(`${line.id}: ${facts}`);
    else pairs.push({ id: line.id, provider: line.provider, model: line.model, tokens: line.true_input_tokens, tools: line.tools, media: line.images_or_files, opaque: line.opaque_history, facts });
  }
  return { pairs, unread };
}

function factsOf(line: Line): RequestFacts | string {
  const route = routeOf('POST', line.url_path ?? PATHS[line.provider] ?? '/');
  if (route.kind !== 'metered') return `${line.url_path ?? line.provider} is ${route.kind}`;
  const parsed = route.api.parseRequest(Buffer.from(JSON.stringify(line.request)));
  return parsed.ok ? parsed.facts : parsed.fault.message;
}

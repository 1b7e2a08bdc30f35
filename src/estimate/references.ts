import type { Reference, RequestFacts } from '../domain/request.js';
import type { Usage } from '../domain/usage.js';
import { Recent } from './recent.js';
import { AT, type ReferenceTokens } from './regressors.js';

/** What is assumed of something that nobody saw before. */
const UNKNOWN: Readonly<Record<Reference['kind'], number>> = { response: 1500, conversation: 2000, file: 1500, cached_content: 4000 };
const MAX_TOKENS = 2 ** 31;

/** What prompts cost that other requests refer to, for each tenant apart. Bounded: the longest unused go first. */
export class References {
  readonly #tokens: Recent<number>;

  constructor(maxIds: number) {
    this.#tokens = new Recent(maxIds);
  }

  /** `usual`: what this tenant's longer prompts to the model take, null while unknown; it stands for what is not known, and is asked for then only. */
  tokensOf(tenantId: string, { prompt }: RequestFacts, usual: () => number | null): ReferenceTokens {
    let tokens = 0;
    let unknown = false;
    for (const reference of prompt.references) {
      const known = this.#tokens.get(keyOf(tenantId, reference));
      tokens += known ?? usual() ?? UNKNOWN[reference.kind];
      unknown ||= known === undefined;
    }
    return { tokens, unknown };
  }

  /** `rest`: what the prompt without its references was estimated at; asked for only where it is needed. */
  learn(tenantId: string, { prompt }: RequestFacts, usage: Usage, responseId: string | null, rest: () => number): void {
    const exchange = usage.inputTokens + usage.outputTokens;
    if (responseId !== null) this.#set(tenantId, { kind: 'response', id: responseId }, exchange);
    if (prompt.references.length === 0) return;
    const files = prompt.references.filter(({ kind }) => kind === 'file' || kind === 'cached_content');
    for (const reference of prompt.references) {
      if (reference.kind === 'conversation') this.#set(tenantId, reference, exchange);
      else if (reference.kind === 'cached_content' && usage.cachedInputTokens > 0) this.#set(tenantId, reference, usage.cachedInputTokens);
      else if (reference.kind !== 'response' && files.length === 1) this.#set(tenantId, reference, Math.max(0, usage.inputTokens - rest()));
    }
  }

  #set(tenantId: string, reference: Reference, tokens: number): void {
    if (Number.isFinite(tokens) && tokens >= 0) this.#tokens.set(keyOf(tenantId, reference), Math.min(MAX_TOKENS, Math.round(tokens)));
  }
}

/** True where the vector's truth can be taken for what its weights should give. */
export function isLearnable(x: Readonly<Float64Array>): boolean {
  return x[AT.unknown] === 0;
}

/** The lengths keep the parts apart. */
function keyOf(tenantId: string, { kind, id }: Reference): string {
  return `${tenantId.length}:${tenantId}${kind}:${id}`;
}

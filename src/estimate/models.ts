import type { LearnedState } from '../domain/estimate.js';
import type { RequestFacts } from '../domain/request.js';
import { Model } from './model.js';
import { PLAIN_APIS } from './overheads.js';
import { Recent } from './recent.js';
import { familyOf } from './regressors.js';

/** Longest name of a model that is stored, and longest state that is read. */
const MAX_NAME = 256;
const MAX_STATE = 32 * 1024;

/** What was learned of each model, by its name and by how prompts are framed; bounded, the longest unused goes first. */
export class Models {
  readonly #models: Recent<Model>;
  /** Families of names, also of those that nothing was learned of: they are looked up in tables of patterns. */
  readonly #fresh: Recent<Model>;
  readonly #changed = new Set<string>();

  constructor(maxModels: number) {
    this.#models = new Recent(maxModels);
    this.#fresh = new Recent(maxModels);
  }

  /** The model of a request: what was learned of it, or what is assumed. */
  of(facts: Pick<RequestFacts, 'api' | 'model'>): Model {
    const key = keyOf(facts);
    const known = this.#models.get(key) ?? this.#fresh.get(key);
    if (known !== undefined) return known;
    const fresh = new Model(familyOf(facts));
    this.#fresh.set(key, fresh);
    return fresh;
  }

  learn(facts: RequestFacts, regressors: Float64Array, inputTokens: number): void {
    const key = keyOf(facts);
    const model = this.#models.get(key) ?? new Model(familyOf(facts));
    model.learn(regressors, inputTokens);
    this.#models.set(key, model);
    if (key.length <= MAX_NAME) this.#changed.add(key);
  }

  /** States of what was learned of since the last call. */
  changed(): LearnedState[] {
    const states = [...this.#changed].flatMap((key) => {
      const model = this.#models.get(key);
      const state = model?.state() ?? null;
      return model === undefined || state === null ? [] : [{ key, observations: model.observations, state }];
    });
    this.#changed.clear();
    return states;
  }

  /** Takes a state up where it stands for more answers than what is here. What others stored may be anything. */
  adopt(stored: LearnedState | null | undefined): void {
    const { key, observations = 0, state } = (stored ?? {}) as Partial<LearnedState>;
    if (typeof key !== 'string' || key.length > MAX_NAME || typeof state !== 'string' || state.length > MAX_STATE) return;
    const facts = factsOf(key);
    if (facts === null || !(observations > (this.#models.get(key)?.observations ?? 0))) return;
    const model = Model.from(state, familyOf(facts));
    if (model !== null && model.observations > (this.#models.get(key)?.observations ?? 0)) this.#models.set(key, model);
  }
}

/** Plain text and conversations are framed in different ways. */
function keyOf({ api, model }: Pick<RequestFacts, 'api' | 'model'>): string {
  return `${PLAIN_APIS.has(api) ? 'text' : 'chat'} ${model}`;
}

function factsOf(key: string): Pick<RequestFacts, 'api' | 'model'> | null {
  const model = key.slice(5);
  if (key.startsWith('chat ')) return { api: 'openai-chat', model };
  return key.startsWith('text ') ? { api: 'openai-completions', model } : null;
}

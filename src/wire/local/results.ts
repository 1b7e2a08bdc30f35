import { NO_USAGE, type Usage } from '../../domain/usage.js';
import type { Json } from '../json/json.js';

/** Results of one answer that are told apart; more than any request can ask for is not kept. */
const MAX_RESULTS = 65_536;

/** What one result cost; null where it was not told. */
export interface Figures {
  readonly input: number | null;
  readonly cached: number | null;
  readonly output: number | null;
}

/**
 * Figures of an answer that holds several results, each of a prompt of its own and with figures of its own: for each the last value
 * wins, and all together are the answer's.
 */
export class Results {
  readonly #figures = new Map<string, Figures>();

  /** Takes figures of one result, by its number or id; what is not told leaves the earlier value. */
  take(key: Json, told: Figures): void {
    const name = typeof key === 'number' || typeof key === 'string' ? String(key) : '';
    const known = this.#figures.get(name);
    if (known === undefined && (this.#figures.size >= MAX_RESULTS || (told.input === null && told.output === null))) return;
    this.#figures.set(name, { input: told.input ?? known?.input ?? null, cached: told.cached ?? known?.cached ?? null, output: told.output ?? known?.output ?? null });
  }

  /** The figures so far; null while there are none. */
  get usage(): Usage | null {
    if (this.#figures.size === 0) return null;
    let [inputTokens, cachedInputTokens, outputTokens] = [0, 0, 0];
    for (const { input, cached, output } of this.#figures.values()) {
      inputTokens += input ?? 0;
      cachedInputTokens += Math.min(cached ?? 0, input ?? 0);
      outputTokens += output ?? 0;
    }
    return { ...NO_USAGE, inputTokens, cachedInputTokens, outputTokens };
  }
}

import { Counter, type Registry } from 'prom-client';

interface Cell {
  readonly labels: Readonly<Record<string, string>>;
  value: number;
}

export interface TallyOptions {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly registry: Registry;
}

/**
 * A counter for what happens on every request: it adds up in a map of its own and tells Prometheus at the scrape. Counting
 * in prom-client checks and hashes the labels each time, which costs several times as much.
 */
export class Tally {
  readonly #cells = new Map<string, Cell>();

  constructor({ name, help, labelNames, registry }: TallyOptions) {
    const counter: Counter = new Counter({
      name,
      help,
      labelNames: [...labelNames],
      registers: [registry],
      collect: () => {
        counter.reset();
        for (const { labels, value } of this.#cells.values()) counter.inc(labels, value);
      },
    });
  }

  /** Adds to the series of these labels. Always give them in the same order; their values must be bounded and without control characters. */
  add(labels: Readonly<Record<string, string>>, amount: number): void {
    const key = Object.values(labels).join('\n');
    const cell = this.#cells.get(key);
    if (cell === undefined) this.#cells.set(key, { labels, value: amount });
    else cell.value += amount;
  }
}

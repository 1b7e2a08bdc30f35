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
  readonly #labelNames: readonly string[];

  constructor({ name, help, labelNames, registry }: TallyOptions) {
    this.#labelNames = labelNames;
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

  /** Adds to one series; `label`: the values in the order of the names, each bounded and without control characters, with a line end between them. */
  add(label: string, amount: number): void {
    const cell = this.#cells.get(label);
    if (cell !== undefined) cell.value += amount;
    else this.#cells.set(label, { labels: labelsOf(this.#labelNames, label), value: amount });
  }
}

/** The labels of a series by its values, which have line ends between them. */
export function labelsOf(names: readonly string[], label: string): Record<string, string> {
  const values = label.split('\n');
  return Object.fromEntries(names.map((name, i) => [name, values[i] ?? '']));
}

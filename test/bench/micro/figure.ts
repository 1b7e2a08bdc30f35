/** One thing that is measured on its own. */
export interface Figure {
  readonly name: string;
  /** Of speeds (`MB/s`) the larger is the better, of times (`ms`, `µs`, and how many times another one) and of memory (`MB`) the smaller. */
  readonly unit: 'MB/s' | 'ms' | 'µs' | '× GET' | '×' | 'MB';
  readonly target: number;
  /** It measures many times by itself. */
  readonly once?: boolean;
  /** Runs once and returns the figure in its unit. */
  run(): number | Promise<number>;
}

/** One thing that is measured on its own. */
export interface Figure {
  readonly name: string;
  /** Of speeds (`MB/s`) the larger is the better, of times (`ms`) the smaller. */
  readonly unit: 'MB/s' | 'ms';
  readonly target: number;
  /** Runs once and returns the figure in its unit. */
  run(): number;
}

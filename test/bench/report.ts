/** One line of the result. */
export interface Row {
  readonly figure: string;
  readonly unit: string;
  readonly ours: number;
  /** Null where there is nothing to compare with. */
  readonly noop: number | null;
  /** What the target is about: ours / no-op, or ours alone. */
  readonly value: number;
  readonly target: Target;
  /** Anything that helps to judge the row. */
  readonly note?: string;
}

export type Target = { readonly atLeast: number } | { readonly atMost: number };

export function isMet({ value, target }: Row): boolean {
  return 'atLeast' in target ? value >= target.atLeast : value <= target.atMost;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The rows as a table in plain text. */
export function tableOf(rows: readonly Row[]): string {
  const lines = [['figure', 'ours', 'no-op', 'ratio', 'target', ''], ...rows.map(cells)];
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines.map((line) => line.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join('  ').trimEnd()).join('\n');
}

function cells(row: Row): string[] {
  const { figure, unit, ours, noop, value, target, note } = row;
  const bound = 'atLeast' in target ? `>= ${target.atLeast}` : `<= ${target.atMost}`;
  const verdict = `${isMet(row) ? 'met' : 'NOT MET'}${note === undefined ? '' : ` (${note})`}`;
  return [figure, `${short(ours)} ${unit}`.trim(), noop === null ? '-' : short(noop), noop === null ? '-' : short(value), bound, verdict];
}

function short(value: number): string {
  const size = Math.abs(value);
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : value.toFixed(size >= 1 ? 2 : 3);
}

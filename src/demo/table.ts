/** A column: its title, and whether its cells are numbers. */
export interface Column {
  readonly title: string;
  readonly right?: boolean;
}

/** Lays cells out under their titles, as lines: title, rule, rows. Every row has one cell a column. */
export function tableLines(columns: readonly Column[], rows: readonly (readonly string[])[]): string[] {
  const widths = columns.map(({ title }, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const lay = (cells: readonly string[]): string => {
    const padded = columns.map(({ right }, i) => (right ? (cells[i] ?? '').padStart(widths[i]!) : (cells[i] ?? '').padEnd(widths[i]!)));
    return padded.join('  ').trimEnd();
  };
  return [lay(columns.map(({ title }) => title)), widths.map((width) => '─'.repeat(width)).join('  '), ...rows.map(lay)];
}

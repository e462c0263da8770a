/** Columns as kubectl prints them: upper-case heads, three blanks in between, nothing after the last. */
export function renderTable(heads: string[], rows: string[][]): string {
  const widths = heads.map((head, column) => Math.max(head.length, ...rows.map((row) => (row[column] ?? '').length)));
  const line = (cells: string[]): string =>
    cells
      .map((cell, column) => (column === heads.length - 1 ? cell : cell.padEnd((widths[column] ?? 0) + 3)))
      .join('')
      .trimEnd();
  return `${[heads, ...rows].map(line).join('\n')}\n`;
}

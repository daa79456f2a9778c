import { format } from './format.ts';
import type { Row } from './rows.ts';

export const COLUMNS = ['work', 'ours', 'peer', 'theirs', 'ratio', 'goal', 'met'] as const;

/** A text as a cell of a table in Markdown, where a vertical bar would end it. */
export function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
}

/** The cells of a row, in the order of the columns. */
export function cellsOf(row: Row): string[] {
  return [
    row.work,
    row.ours === null ? 'not measured' : `${format(row.ours)} ${row.unit}`.trim(),
    row.peer || '–',
    row.theirs === null ? '–' : format(row.theirs),
    row.ratio === null ? '–' : `${format(row.ratio)}×`,
    row.goal,
    row.met ? (row.goal === '–' ? '–' : 'yes') : 'NO',
  ];
}

/** One line, for progress. */
export function lineOf(row: Row): string {
  const [work, ours, peer, theirs, ratio, goal, met] = cellsOf(row);
  const against = row.peer === '' ? '' : `; ${peer}: ${theirs}, ratio ${ratio}`;
  const wanted = row.goal === '–' ? '' : `; goal ${goal}: ${met}`;
  return `${work}: ${ours}${against}${wanted}${row.reason === undefined ? '' : ` (${row.reason})`}`;
}

/** The rows as a table for a terminal. */
export function formatTable(rows: readonly Row[]): string {
  const lines = [[...COLUMNS], ...rows.map(cellsOf)];
  const widths = COLUMNS.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

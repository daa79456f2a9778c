import { useState } from 'preact/hooks';
import { NUMBER_COLUMN, type Column } from './columns.ts';

export interface CellPosition {
  /** From 0, in the shown order. */
  readonly row: number;
  readonly column: number;
}

interface ActiveCell {
  readonly active: CellPosition | undefined;
  readonly activate: (cell: CellPosition) => void;
  /** Handles the keys of the grid; its element scrolls. */
  readonly onKeyDown: (event: KeyboardEvent & { readonly currentTarget: HTMLElement }) => void;
}

/** Pixels by which a key changes the width of a column. */
const RESIZE_STEP = 24;

/** Moves by keys: rows and columns; undefined for other keys. */
function stepOf(key: string, page: number, rows: number): readonly [rows: number, columns: number] | undefined {
  const steps: Readonly<Record<string, readonly [number, number]>> = {
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
    PageUp: [-page, 0],
    PageDown: [page, 0],
    Home: [-rows, 0],
    End: [rows, 0],
  };
  return steps[key];
}

const within = (value: number, count: number): number => Math.max(0, Math.min(count - 1, value));

/** Scrolls so that the cell is visible below the header. */
function reveal(box: HTMLElement, { row, column }: CellPosition, columns: readonly Column[], rowHeight: number): void {
  const top = row * rowHeight;
  // The header has the height of a row, and stays at the top.
  const height = box.clientHeight - rowHeight;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + rowHeight > box.scrollTop + height) box.scrollTop = top + rowHeight - height;
  const left = columns.slice(0, column).reduce((sum, { width }) => sum + width, NUMBER_COLUMN);
  const right = left + (columns[column]?.width ?? 0);
  if (left < box.scrollLeft) box.scrollLeft = column === 0 ? 0 : left;
  else if (right > box.scrollLeft + box.clientWidth) box.scrollLeft = right - box.clientWidth;
}

/** The active cell of the grid, moved by the keyboard. */
export function useActiveCell(options: {
  readonly rows: number;
  readonly columns: readonly Column[];
  readonly rowHeight: number;
  readonly onOpen: (cell: CellPosition) => void;
  readonly onSort: (column: number) => void;
}): ActiveCell {
  const { rows, columns, rowHeight } = options;
  const [active, activate] = useState<CellPosition>();
  const onKeyDown: ActiveCell['onKeyDown'] = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || rows === 0) return;
    const box = event.currentTarget;
    const step = stepOf(event.key, Math.max(1, Math.floor(box.clientHeight / rowHeight) - 2), rows);
    const column = active && columns[active.column];
    if (step) {
      const from = active ?? { row: step[0] === 0 ? 0 : -1, column: step[1] === 0 ? 0 : -1 };
      const to = { row: within(from.row + step[0], rows), column: within(from.column + step[1], columns.length) };
      activate(to);
      reveal(box, to, columns, rowHeight);
    } else if (active && event.key === 'Enter') options.onOpen(active);
    else if (active && event.key === 's') options.onSort(active.column);
    else if (column && (event.key === '[' || event.key === ']'))
      column.resize(column.width + (event.key === ']' ? RESIZE_STEP : -RESIZE_STEP));
    else return;
    event.preventDefault();
  };
  return { active, activate, onKeyDown };
}

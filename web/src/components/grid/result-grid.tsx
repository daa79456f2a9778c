import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import { cellOf, toCsv, toTsv } from '../../lib/exact-json.ts';
import type { CursorResponse } from '../../lib/types.ts';
import { CopyButton, download } from '../basics.tsx';
import { VirtualList } from '../virtual-list.tsx';
import { CellDialog } from './cell-dialog.tsx';
import { ColumnHead } from './column-head.tsx';
import { NUMBER_COLUMN, useColumns } from './columns.ts';
import { useActiveCell, type CellPosition } from './use-active-cell.ts';

const ROW_HEIGHT = 28;
/** The grid has the height of the window, without the header, the pager and the buttons below. */
const HEIGHT = 'max(320px, calc(100vh - 270px))';

/** Characters of a value in the grid and in its tooltip. The dialog shows it in full. */
const MAX_TEXT = 500;
const MAX_TITLE = 2000;

/** A page of a result with column types and exact numbers, and buttons for copy and CSV. */
export function ResultGrid(props: { page: CursorResponse }): JSX.Element | null {
  const table = props.page.resultTable;
  return table ? <Grid key={props.page.offset} page={props.page} table={table} /> : null;
}

function Grid(props: { page: CursorResponse; table: NonNullable<CursorResponse['resultTable']> }): JSX.Element {
  const { page } = props;
  const { rows, dataSchema } = props.table;
  const { columnNames, columnDataTypes } = dataSchema;
  const columns = useColumns(columnNames, columnDataTypes, rows);
  const [opened, setOpened] = useState<CellPosition>();
  const { active, activate, onKeyDown } = useActiveCell({
    rows: rows.length,
    columns,
    rowHeight: ROW_HEIGHT,
    onOpen: setOpened,
  });
  const id = useId();
  const width = columns.reduce((sum, column) => sum + column.width, NUMBER_COLUMN);
  const template = [NUMBER_COLUMN, ...columns.map((column) => column.width)].map((pixels) => `${pixels}px`).join(' ');
  const style = { gridTemplateColumns: template, width: `max(100%, ${width}px)` };
  const openedColumn = opened && columns[opened.column];
  const cell = (value: unknown, row: number, column: number): JSX.Element => {
    const { text, kind } = cellOf(value);
    const isActive = active?.row === row && active.column === column;
    return (
      <span
        role="gridcell"
        key={column}
        id={isActive ? `${id}-active` : undefined}
        class={`cell-${kind}${isActive ? ' cell-active' : ''}`}
        title={text.length > MAX_TITLE ? `${text.slice(0, MAX_TITLE)}…` : text}
        onClick={() => activate({ row, column })}
        onDblClick={() => setOpened({ row, column })}
      >
        {text.length > MAX_TEXT ? text.slice(0, MAX_TEXT) : text}
      </span>
    );
  };
  return (
    <>
      <div class="grid">
        <VirtualList
          count={rows.length}
          rowHeight={ROW_HEIGHT}
          maxHeight={HEIGHT}
          width={width}
          label="Rows of this page"
          grid={{
            rows: page.numRowsResultSet + 1,
            columns: columns.length + 1,
            active: active && `${id}-active`,
            onKeyDown,
          }}
          header={
            <div role="rowgroup" class="grid-head" style={{ width: style.width }}>
              <div class="grid-row" role="row" style={style}>
                <span role="columnheader" class="grid-number">
                  row
                </span>
                {columns.map((column, index) => (
                  <ColumnHead key={index} column={column} />
                ))}
              </div>
            </div>
          }
          render={(index) => (
            <div class="grid-row" role="row" key={index} style={style} aria-rowindex={page.offset + index + 2}>
              <span role="rowheader" class="grid-number">
                {page.offset + index + 1}
              </span>
              {(rows[index] ?? []).map((value, column) => cell(value, index, column))}
            </div>
          )}
        />
      </div>
      {opened && openedColumn && (
        <CellDialog
          column={openedColumn.name}
          type={openedColumn.type}
          row={page.offset + opened.row + 1}
          value={rows[opened.row]?.[opened.column]}
          onClose={() => setOpened(undefined)}
        />
      )}
      <div class="row">
        <CopyButton label="Copy page" text={() => toTsv(columnNames, rows)} />
        <button
          type="button"
          class="small"
          onClick={() => download(`${page.requestId}-${page.offset}.csv`, 'text/csv', toCsv(columnNames, rows))}
        >
          Download page as CSV
        </button>
        <span class="muted">Enter or a double click opens a cell in full.</span>
      </div>
    </>
  );
}

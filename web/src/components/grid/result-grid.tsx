import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import { cellOf, toCsv, toTsv } from '../../lib/exact-json.ts';
import type { CursorResponse } from '../../lib/types.ts';
import { CopyButton, download } from '../basics.tsx';
import { VirtualList } from '../virtual-list.tsx';
import { CellDialog } from './cell-dialog.tsx';
import { ColumnHead } from './column-head.tsx';
import { NUMBER_COLUMN, useColumns, type Column } from './columns.ts';
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

interface GridLayout {
  readonly columns: readonly Column[];
  /** Pixels of all columns. */
  readonly width: number;
  readonly style: { readonly gridTemplateColumns: string; readonly width: string };
}

function layoutOf(columns: readonly Column[]): GridLayout {
  const width = columns.reduce((sum, column) => sum + column.width, NUMBER_COLUMN);
  const template = [NUMBER_COLUMN, ...columns.map((column) => column.width)].map((pixels) => `${pixels}px`).join(' ');
  return { columns, width, style: { gridTemplateColumns: template, width: `max(100%, ${width}px)` } };
}

function GridHead(props: { layout: GridLayout }): JSX.Element {
  const { columns, style } = props.layout;
  return (
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
  );
}

/** @param props.activeId the id of the active cell; undefined for the others */
function Cell(props: {
  value: unknown;
  activeId: string | undefined;
  onActivate: () => void;
  onOpen: () => void;
}): JSX.Element {
  const { text, kind } = cellOf(props.value);
  return (
    <span
      role="gridcell"
      id={props.activeId}
      class={`cell-${kind}${props.activeId === undefined ? '' : ' cell-active'}`}
      title={text.length > MAX_TITLE ? `${text.slice(0, MAX_TITLE)}…` : text}
      onClick={props.onActivate}
      onDblClick={props.onOpen}
    >
      {text.length > MAX_TEXT ? text.slice(0, MAX_TEXT) : text}
    </span>
  );
}

type ResultTable = NonNullable<CursorResponse['resultTable']>;

function PageButtons(props: { page: CursorResponse; table: ResultTable }): JSX.Element {
  const { requestId, offset } = props.page;
  const { rows, dataSchema } = props.table;
  return (
    <div class="row">
      <CopyButton label="Copy page" text={() => toTsv(dataSchema.columnNames, rows)} />
      <button
        type="button"
        class="small"
        onClick={() => download(`${requestId}-${offset}.csv`, 'text/csv', toCsv(dataSchema.columnNames, rows))}
      >
        Download page as CSV
      </button>
      <span class="muted">Enter or a double click opens a cell in full.</span>
    </div>
  );
}

interface CellActions {
  /** The id of the active cell, for screen readers. */
  readonly activeId: string;
  readonly active: CellPosition | undefined;
  readonly activate: (cell: CellPosition) => void;
  readonly onOpen: (cell: CellPosition) => void;
}

/** @param props.row from 0, in this page */
function GridRow(props: {
  row: number;
  offset: number;
  values: readonly unknown[];
  layout: GridLayout;
  cells: CellActions;
}): JSX.Element {
  const { row, offset, cells } = props;
  return (
    <div class="grid-row" role="row" style={props.layout.style} aria-rowindex={offset + row + 2}>
      <span role="rowheader" class="grid-number">
        {offset + row + 1}
      </span>
      {props.values.map((value, column) => (
        <Cell
          key={column}
          value={value}
          activeId={cells.active?.row === row && cells.active.column === column ? cells.activeId : undefined}
          onActivate={() => cells.activate({ row, column })}
          onOpen={() => cells.onOpen({ row, column })}
        />
      ))}
    </div>
  );
}

/** The rows of a page. @param props.onOpen shows a cell in full */
function GridRows(props: {
  page: CursorResponse;
  rows: ResultTable['rows'];
  columns: readonly Column[];
  onOpen: (cell: CellPosition) => void;
}): JSX.Element {
  const { page, rows, columns, onOpen } = props;
  const { active, activate, onKeyDown } = useActiveCell({ rows: rows.length, columns, rowHeight: ROW_HEIGHT, onOpen });
  const activeId = `${useId()}-active`;
  const cells = { activeId, active, activate, onOpen };
  const layout = layoutOf(columns);
  return (
    <div class="grid">
      <VirtualList
        count={rows.length}
        rowHeight={ROW_HEIGHT}
        maxHeight={HEIGHT}
        width={layout.width}
        label="Rows of this page"
        grid={{
          rows: page.numRowsResultSet + 1,
          columns: columns.length + 1,
          active: active && activeId,
          onKeyDown,
        }}
        header={<GridHead layout={layout} />}
        render={(row) => (
          <GridRow key={row} row={row} offset={page.offset} values={rows[row] ?? []} layout={layout} cells={cells} />
        )}
      />
    </div>
  );
}

function Grid(props: { page: CursorResponse; table: ResultTable }): JSX.Element {
  const { page, table } = props;
  const { columnNames, columnDataTypes } = table.dataSchema;
  const columns = useColumns(columnNames, columnDataTypes, table.rows);
  const [opened, setOpened] = useState<CellPosition>();
  const openedColumn = opened && columns[opened.column];
  return (
    <>
      <GridRows page={page} rows={table.rows} columns={columns} onOpen={setOpened} />
      {opened && openedColumn && (
        <CellDialog
          column={openedColumn.name}
          type={openedColumn.type}
          row={page.offset + opened.row + 1}
          value={table.rows[opened.row]?.[opened.column]}
          onClose={() => setOpened(undefined)}
        />
      )}
      <PageButtons page={page} table={table} />
    </>
  );
}

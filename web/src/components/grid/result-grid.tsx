import type { JSX } from 'preact';
import { useId, useMemo, useState } from 'preact/hooks';
import { cellOf, toCsv, toTsv } from '../../lib/exact-json.ts';
import type { CursorResponse } from '../../lib/types.ts';
import { CopyButton, download } from '../basics.tsx';
import { whole } from '../../lib/format.ts';
import { VirtualList, type Across } from '../virtual-list.tsx';
import { CellDialog } from './cell-dialog.tsx';
import { ColumnHead } from './column-head.tsx';
import { NUMBER_COLUMN, useColumns, type Column } from './columns.ts';
import { isAmount, readable } from './readable.ts';
import { nextOrder, rowsOf, type Order } from './row-view.ts';
import { useActiveCell, type CellPosition } from './use-active-cell.ts';

const ROW_HEIGHT = 28;
/** The grid has the height of the window, without the header, the pager and the buttons below. */
const HEIGHT = 'max(320px, calc(100vh - 270px))';

/** A result with more columns renders only those in view. */
const MAX_ALL_COLUMNS = 40;
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
  /** Where each column begins, pixels. */
  readonly starts: readonly number[];
  /** Pixels of all columns. */
  readonly width: number;
  readonly style: { readonly gridTemplateColumns: string; readonly width: string };
}

function layoutOf(columns: readonly Column[]): GridLayout {
  const starts: number[] = [];
  let width = NUMBER_COLUMN;
  for (const column of columns) {
    starts.push(width);
    width += column.width;
  }
  const template = [NUMBER_COLUMN, ...columns.map((column) => column.width)].map((pixels) => `${pixels}px`).join(' ');
  return { columns, starts, width, style: { gridTemplateColumns: template, width: `max(100%, ${width}px)` } };
}

/** The columns that are rendered: all of a few, or else those in view. @returns their indexes */
function shownColumns({ columns, starts }: GridLayout, across: Across): readonly number[] {
  const all = [...columns.keys()];
  if (columns.length <= MAX_ALL_COLUMNS) return all;
  return all.filter((at) => {
    const start = starts[at] ?? 0;
    return start < across.to && start + (columns[at]?.width ?? 0) > across.from;
  });
}

function GridHead(props: {
  layout: GridLayout;
  shown: readonly number[];
  order: Order | undefined;
  onSort: (column: number) => void;
}): JSX.Element {
  const { layout, order } = props;
  return (
    <div role="rowgroup" class="grid-head" style={{ width: layout.style.width }}>
      <div class="grid-row" role="row" style={layout.style}>
        <span role="columnheader" class="grid-number">
          row
        </span>
        {props.shown.map((at) => {
          const column = layout.columns[at];
          const sorted = order?.column !== at ? undefined : order.descending ? 'descending' : 'ascending';
          return (
            column && <ColumnHead key={at} at={at} column={column} sorted={sorted} onSort={() => props.onSort(at)} />
          );
        })}
      </div>
    </div>
  );
}

/** @param props.activeId the id of the active cell; undefined for the others */
function Cell(props: {
  value: unknown;
  column: Column;
  /** From 0. */
  at: number;
  activeId: string | undefined;
  onActivate: () => void;
  onOpen: () => void;
}): JSX.Element {
  const { at, column } = props;
  const cell = cellOf(props.value);
  const { text, kind } = cell;
  const shown = isAmount(column.name, column.type) ? readable(cell) : text;
  return (
    <span
      role="gridcell"
      aria-colindex={at + 2}
      style={{ gridColumn: at + 2 }}
      id={props.activeId}
      class={`cell-${kind}${props.activeId === undefined ? '' : ' cell-active'}`}
      title={text.length > MAX_TITLE ? `${text.slice(0, MAX_TITLE)}…` : text}
      onClick={props.onActivate}
      onDblClick={props.onOpen}
    >
      {shown.length > MAX_TEXT ? shown.slice(0, MAX_TEXT) : shown}
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
      <span class="muted">Enter or a double click opens a cell in full; a click on a column sorts this page.</span>
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

/** @param props.position from 0, in the shown order; `row` from 0, in this page */
function GridRow(props: {
  position: number;
  row: number;
  offset: number;
  values: readonly unknown[];
  layout: GridLayout;
  shown: readonly number[];
  cells: CellActions;
}): JSX.Element {
  const { position, row, offset, values, layout, cells } = props;
  return (
    <div class="grid-row" role="row" style={layout.style} aria-rowindex={offset + row + 2}>
      <span role="rowheader" class="grid-number">
        {offset + row + 1}
      </span>
      {props.shown.map((at) => {
        const column = layout.columns[at];
        const isActive = cells.active?.row === position && cells.active.column === at;
        if (!column) return null;
        return (
          <Cell
            key={at}
            at={at}
            column={column}
            value={values[at]}
            activeId={isActive ? cells.activeId : undefined}
            onActivate={() => cells.activate({ row: position, column: at })}
            onOpen={() => cells.onOpen({ row: position, column: at })}
          />
        );
      })}
    </div>
  );
}

/** The rows of a page that are shown, in their order. */
interface RowView {
  readonly indexes: readonly number[];
  readonly order: Order | undefined;
  readonly onSort: (column: number) => void;
}

/** The rows of a page. @param props.onOpen shows a cell in full */
function GridRows(props: {
  page: CursorResponse;
  rows: ResultTable['rows'];
  view: RowView;
  columns: readonly Column[];
  onOpen: (cell: CellPosition) => void;
}): JSX.Element {
  const { page, rows, view, columns, onOpen } = props;
  const { indexes, order, onSort } = view;
  const { active, activate, onKeyDown } = useActiveCell({
    ...props,
    rows: indexes.length,
    rowHeight: ROW_HEIGHT,
    onSort,
  });
  const activeId = `${useId()}-active`;
  const cells = { activeId, active, activate, onOpen };
  const layout = layoutOf(columns);
  const shown = (across: Across): readonly number[] => shownColumns(layout, across);
  const row = (position: number, across: Across): JSX.Element => {
    const index = indexes[position] ?? 0;
    const place = { position, row: index, offset: page.offset, values: rows[index] ?? [] };
    return <GridRow key={index} {...place} layout={layout} shown={shown(across)} cells={cells} />;
  };
  const size = { rows: page.numRowsResultSet + 1, columns: columns.length + 1 };
  return (
    <div class="grid">
      <VirtualList
        count={indexes.length}
        rowHeight={ROW_HEIGHT}
        maxHeight={HEIGHT}
        width={layout.width}
        label="Rows of this page"
        grid={{ ...size, active: active && activeId, onKeyDown }}
        header={(across) => <GridHead layout={layout} shown={shown(across)} order={order} onSort={onSort} />}
        render={row}
      />
    </div>
  );
}

/** Searches and sorts the rows of a page. */
function useRowView(
  rows: ResultTable['rows'],
): RowView & { readonly search: string; readonly setSearch: (text: string) => void } {
  const [search, setSearch] = useState('');
  const [order, setOrder] = useState<Order>();
  const indexes = useMemo(() => rowsOf(rows, search, order), [rows, search, order]);
  return { indexes, order, search, setSearch, onSort: (column) => setOrder(nextOrder(order, column)) };
}

function SearchRows(props: { value: string; found: number; onChange: (text: string) => void }): JSX.Element {
  return (
    <div class="row">
      <label class="inline">
        <span>Search in this page</span>
        <input type="search" value={props.value} onInput={(event) => props.onChange(event.currentTarget.value)} />
      </label>
      {props.value !== '' && <span role="status">{props.found === 1 ? '1 row' : `${whole(props.found)} rows`}</span>}
    </div>
  );
}

function Grid(props: { page: CursorResponse; table: ResultTable }): JSX.Element {
  const { page, table } = props;
  const { columnNames, columnDataTypes } = table.dataSchema;
  const columns = useColumns(columnNames, columnDataTypes, table.rows);
  const view = useRowView(table.rows);
  const [opened, setOpened] = useState<CellPosition>();
  const openedColumn = opened && columns[opened.column];
  return (
    <>
      <SearchRows value={view.search} found={view.indexes.length} onChange={view.setSearch} />
      <GridRows
        page={page}
        rows={table.rows}
        view={view}
        columns={columns}
        onOpen={({ row, column }) => setOpened({ row: view.indexes[row] ?? 0, column })}
      />
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

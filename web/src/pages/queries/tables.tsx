import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { VirtualList } from '../../components/virtual-list.tsx';
import { matching, whole } from '../../lib/format.ts';
import type { TableColumn } from '../../lib/table-columns.ts';
import { visible } from '../../lib/visible.ts';
import type { Schemas } from './use-schemas.ts';

const ROW_HEIGHT = 32;
const MAX_ROWS_IN_VIEW = 8;
/** The tables are beside the editor from this width on. */
const isWide = (): boolean => matchMedia('(min-width: 1000px)').matches;

/** A line of the tree. */
type Line = { readonly table: string } | { readonly table: string; readonly column: TableColumn };

interface TreeProps {
  names: readonly string[];
  schemas: Pick<Schemas, 'inQuery' | 'columns'>;
  /** The tables whose columns are shown, besides those that the query names. */
  opened: readonly string[];
  onToggle: (table: string) => void;
  onPickTable: (table: string) => void;
  onPickColumn: (column: string) => void;
}

function linesOf({ names, schemas, opened }: TreeProps): Line[] {
  const shown = new Set([...opened, ...schemas.inQuery]);
  return names.flatMap((table) => [
    { table },
    ...(shown.has(table) ? (schemas.columns[table] ?? []) : []).map((column) => ({ table, column })),
  ]);
}

function TableLine(props: TreeProps & { table: string }): JSX.Element {
  const { table, schemas, opened } = props;
  const isNamed = schemas.inQuery.includes(table);
  const isOpen = isNamed || opened.includes(table);
  return (
    <div role="listitem" class="table-name">
      <button
        type="button"
        class="icon"
        aria-label={`Columns of ${visible(table)}`}
        aria-expanded={isOpen}
        disabled={isNamed}
        onClick={() => props.onToggle(table)}
      >
        {isOpen ? '▾' : '▸'}
      </button>
      <button type="button" class="link" onClick={() => props.onPickTable(table)}>
        {visible(table)}
      </button>
    </div>
  );
}

function ColumnLine(props: { column: TableColumn; onPick: (column: string) => void }): JSX.Element {
  const { name, type } = props.column;
  return (
    <div role="listitem" class="table-name column-name">
      <button type="button" class="link" onClick={() => props.onPick(name)}>
        {visible(name)}
      </button>{' '}
      <span class="muted">{type}</span>
    </div>
  );
}

function Tree(props: TreeProps): JSX.Element {
  const lines = linesOf(props);
  if (lines.length === 0) return <p class="muted">No table has this name.</p>;
  return (
    <VirtualList
      count={lines.length}
      rowHeight={ROW_HEIGHT}
      maxHeight={ROW_HEIGHT * MAX_ROWS_IN_VIEW}
      label="Tables"
      render={(index) => {
        const line = lines[index];
        if (!line) return null;
        if (!('column' in line)) return <TableLine key={line.table} {...props} table={line.table} />;
        return (
          <ColumnLine key={`${line.table}.${line.column.name}`} column={line.column} onPick={props.onPickColumn} />
        );
      }}
    />
  );
}

/** All tables that the caller may see with their columns, and a search. A table becomes a query, a column is inserted at the cursor. */
export function Tables(props: TreeProps): JSX.Element | null {
  const { names } = props;
  const [wanted, setWanted] = useState('');
  const [isOpen] = useState(isWide);
  if (names.length === 0) return null;
  return (
    <details class="query-tables" open={isOpen}>
      <summary>
        {whole(names.length)} {names.length === 1 ? 'table' : 'tables'} available
      </summary>
      <label class="inline">
        <span>Search tables</span>
        <input type="search" value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />
      </label>
      <Tree key={wanted} {...props} names={matching(names, wanted)} />
    </details>
  );
}

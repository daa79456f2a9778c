import type { JSX } from 'preact';
import { cellOf, toCsv } from '../lib/exact-json.ts';
import type { CursorResponse } from '../lib/types.ts';
import { CopyButton, download } from './basics.tsx';
import { VirtualList } from './virtual-list.tsx';

const COLUMN_WIDTH = 168;

/** A page of a result: column names with their types, exact numbers, copy and CSV. */
export function ResultGrid(props: { page: CursorResponse }): JSX.Element | null {
  const table = props.page.resultTable;
  if (!table) return null;
  const { columnNames, columnDataTypes } = table.dataSchema;
  const { rows } = table;
  const width = columnNames.length * COLUMN_WIDTH + 72;
  const columns = {
    gridTemplateColumns: `72px repeat(${columnNames.length}, ${COLUMN_WIDTH}px)`,
    width: `max(100%, ${width}px)`,
  };
  return (
    <>
      <div class="grid">
        <VirtualList
          count={rows.length}
          rowHeight={28}
          maxHeight={480}
          width={width}
          label="Rows of this page"
          table={{ rows: props.page.numRowsResultSet + 1, columns: columnNames.length + 1 }}
          header={
            <div role="rowgroup" class="grid-head" style={{ width: columns.width }}>
              <div class="grid-row" role="row" style={columns}>
                <span role="columnheader" class="grid-number">
                  row
                </span>
                {columnNames.map((name, index) => (
                  <span role="columnheader" key={index} title={`${name} ${columnDataTypes[index] ?? ''}`}>
                    {name} <span class="type">{columnDataTypes[index]}</span>
                  </span>
                ))}
              </div>
            </div>
          }
          render={(index) => (
            <div class="grid-row" role="row" key={index} style={columns} aria-rowindex={props.page.offset + index + 2}>
              <span role="rowheader" class="grid-number">
                {props.page.offset + index + 1}
              </span>
              {(rows[index] ?? []).map((value, column) => {
                const cell = cellOf(value);
                return (
                  <span role="cell" key={column} class={`cell-${cell.kind}`} title={cell.text}>
                    {cell.text}
                  </span>
                );
              })}
            </div>
          )}
        />
      </div>
      <div class="row">
        <CopyButton
          label="Copy the page"
          text={[columnNames.join('\t'), ...rows.map((row) => row.map((value) => cellOf(value).text).join('\t'))].join(
            '\n',
          )}
        />
        <button
          type="button"
          class="small"
          onClick={() =>
            download(`${props.page.requestId}-${props.page.offset}.csv`, 'text/csv', toCsv(columnNames, rows))
          }
        >
          CSV of the page
        </button>
      </div>
    </>
  );
}

const NOT_STATISTICS = new Set([
  'resultTable',
  'exceptions',
  'nextOffsetParams',
  'traceInfo',
  'segmentStatistics',
  'brokerHost',
  'brokerPort',
]);

/** The engine's own account of the query. */
export function Statistics(props: { page: CursorResponse }): JSX.Element {
  const entries = Object.entries(props.page).filter(
    ([name, value]) => !NOT_STATISTICS.has(name) && (typeof value !== 'object' || Array.isArray(value)),
  );
  return (
    <details>
      <summary>Statistics</summary>
      <dl class="statistics">
        {entries.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{Array.isArray(value) ? value.map((item) => cellOf(item).text).join(', ') : cellOf(value).text}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

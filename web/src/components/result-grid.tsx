import type { JSX } from 'preact';
import { cellOf, toCsv, toTsv } from '../lib/exact-json.ts';
import { whole } from '../lib/format.ts';
import type { CursorResponse } from '../lib/types.ts';
import { CopyButton, download } from './basics.tsx';
import { VirtualList } from './virtual-list.tsx';

const NUMBER_COLUMN = 72;
const MIN_COLUMN = 88;
const MAX_COLUMN = 380;
/** Width of a character of the grid and padding of a cell, pixels. */
const CHARACTER = 7.9;
const PADDING = 24;
/** Number of rows from which the column widths are computed. */
const SAMPLE = 50;
const NUMERIC = /^(?:INT|LONG|FLOAT|DOUBLE|BIG_DECIMAL)$/;

/** Width of each column in pixels, from the texts of the first rows, within limits. */
function columnWidths(
  names: readonly string[],
  types: readonly string[],
  rows: readonly (readonly unknown[])[],
): number[] {
  const sample = rows.slice(0, SAMPLE);
  return names.map((name, index) => {
    const head = name.length + (types[index]?.length ?? 0) + 1;
    const longest = Math.max(head, ...sample.map((row) => cellOf(row[index]).text.length));
    return Math.round(Math.min(MAX_COLUMN, Math.max(MIN_COLUMN, longest * CHARACTER + PADDING)));
  });
}

/** A page of a result with column types and exact numbers, and buttons for copy and CSV. */
export function ResultGrid(props: { page: CursorResponse }): JSX.Element | null {
  const table = props.page.resultTable;
  if (!table) return null;
  const { columnNames, columnDataTypes } = table.dataSchema;
  const { rows } = table;
  const widths = columnWidths(columnNames, columnDataTypes, rows);
  const width = widths.reduce((sum, pixels) => sum + pixels, NUMBER_COLUMN);
  const columns = {
    gridTemplateColumns: [NUMBER_COLUMN, ...widths].map((pixels) => `${pixels}px`).join(' '),
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
                  <span
                    role="columnheader"
                    key={index}
                    class={NUMERIC.test(columnDataTypes[index] ?? '') ? 'head-number' : undefined}
                    title={`${name} ${columnDataTypes[index] ?? ''}`}
                  >
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
        <CopyButton label="Copy page" text={() => toTsv(columnNames, rows)} />
        <button
          type="button"
          class="small"
          onClick={() =>
            download(`${props.page.requestId}-${props.page.offset}.csv`, 'text/csv', toCsv(columnNames, rows))
          }
        >
          Download page as CSV
        </button>
      </div>
    </>
  );
}

const NOT_STATISTICS = new Set([
  'resultTable',
  'exceptions',
  'nextOffsetParams',
  'nextUrl',
  'traceInfo',
  'segmentStatistics',
  'brokerHost',
  'brokerPort',
]);

/** Such as `35 ms · 7,500 of 1,000,000 documents scanned · 3 of 3 servers responded`, from the statistics that Pinot returned. */
function summary(page: CursorResponse): string {
  const count = (name: string): string | undefined => {
    const value = page[name];
    return value === undefined || value === null ? undefined : whole(Number(cellOf(value).text));
  };
  const time = count('timeUsedMs');
  const [scanned, docs] = [count('numDocsScanned'), count('totalDocs')];
  const [answered, asked] = [count('numServersResponded'), count('numServersQueried')];
  return [
    time && `${time} ms`,
    scanned && docs && `${scanned} of ${docs} documents scanned`,
    answered && asked && `${answered} of ${asked} servers responded`,
  ]
    .filter(Boolean)
    .join(' · ');
}

/** Pinot's statistics of the query. */
export function Statistics(props: { page: CursorResponse }): JSX.Element {
  const entries = Object.entries(props.page).filter(
    ([name, value]) => !NOT_STATISTICS.has(name) && (typeof value !== 'object' || Array.isArray(value)),
  );
  return (
    <details>
      <summary>
        Statistics <span class="muted">{summary(props.page)}</span>
      </summary>
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

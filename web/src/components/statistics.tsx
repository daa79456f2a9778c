import type { JSX } from 'preact';
import { cellOf } from '../lib/exact-json.ts';
import { whole } from '../lib/format.ts';
import type { CursorResponse } from '../lib/types.ts';

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

import type { JSX } from 'preact';
import { useStarred, type Starred } from '../../lib/starred.ts';
import { visibleText } from '../../lib/visible.ts';

const beginOf = (sql: string): string => visibleText(sql).trim().slice(0, 60);

function HistoryRow(props: {
  sql: string;
  starred: Starred;
  /** Of a starred query. */
  name: string | undefined;
  onPick: (sql: string) => void;
}): JSX.Element {
  const { sql, starred, name } = props;
  const isStarred = name !== undefined;
  return (
    <li>
      <button
        type="button"
        class="icon"
        aria-pressed={isStarred}
        aria-label={`Star ${beginOf(sql)}`}
        onClick={() => starred.toggle(sql)}
      >
        {isStarred ? '★' : '☆'}
      </button>
      {isStarred && (
        <input
          type="text"
          placeholder="Name"
          aria-label={`Name of ${beginOf(sql)}`}
          value={name}
          onInput={(event) => starred.rename(sql, event.currentTarget.value)}
        />
      )}
      <button type="button" class="link grow" title={visibleText(sql)} onClick={() => props.onPick(sql)}>
        <code class="sql">{visibleText(sql)}</code>
      </button>
    </li>
  );
}

/** The queries of this window as they were typed, and the starred ones of the user. @param props.typed the newest first */
export function History(props: { typed: readonly string[]; onPick: (sql: string) => void }): JSX.Element | null {
  const starred = useStarred();
  const stars = new Set(starred.queries.map(({ sql }) => sql));
  const others = [...new Set(props.typed)].filter((sql) => !stars.has(sql));
  if (stars.size + others.length === 0) return null;
  return (
    <details>
      <summary>History and starred queries</summary>
      <ul class="rows query-history" aria-label="Queries">
        {starred.queries.map(({ sql, name }) => (
          <HistoryRow key={sql} sql={sql} name={name} starred={starred} onPick={props.onPick} />
        ))}
        {others.map((sql) => (
          <HistoryRow key={sql} sql={sql} name={undefined} starred={starred} onPick={props.onPick} />
        ))}
      </ul>
    </details>
  );
}

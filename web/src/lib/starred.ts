import { useState } from 'preact/hooks';
import { fingerprint } from './fingerprint.ts';
import { useSession } from './session.ts';

/** A query that the user has starred. It stays in the browser for the next visit, unlike everything else that is typed. */
export interface StarredQuery {
  readonly sql: string;
  /** Empty for none. */
  readonly name: string;
}

/** Maximum queries, and characters of all together. */
const MAX_STARRED = 50;
const MAX_CHARACTERS = 200_000;
/** The key does not reveal the user. */
const keyOf = (user: string): string => `olap-warden-starred/${fingerprint(user)}`;

function isStarred(value: unknown): value is StarredQuery {
  return (
    typeof value === 'object' &&
    value !== null &&
    'sql' in value &&
    typeof value.sql === 'string' &&
    'name' in value &&
    typeof value.name === 'string'
  );
}

function stored(key: string): readonly StarredQuery[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(key) ?? '[]');
    return Array.isArray(list) ? list.filter(isStarred) : [];
  } catch {
    // The browser blocks the storage, or another program wrote it.
    return [];
  }
}

function store(key: string, queries: readonly StarredQuery[]): void {
  try {
    if (queries.length === 0) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(queries));
  } catch {
    // They last as long as the page.
  }
}

export interface Starred {
  readonly queries: readonly StarredQuery[];
  /** Stars a query, or takes the star away. Beyond the limit the oldest ones lose theirs. */
  readonly toggle: (sql: string) => void;
  readonly rename: (sql: string, name: string) => void;
}

/** The starred queries of the user, the newest first. */
export function useStarred(): Starred {
  const { me } = useSession();
  const key = keyOf(me.srn);
  const [queries, setQueries] = useState(() => stored(key));
  const set = (next: readonly StarredQuery[]): void => {
    let characters = 0;
    const kept = next.slice(0, MAX_STARRED).filter(({ sql }) => (characters += sql.length) <= MAX_CHARACTERS);
    setQueries(kept);
    store(key, kept);
  };
  return {
    queries,
    toggle: (sql) => {
      const others = queries.filter((query) => query.sql !== sql);
      set(others.length < queries.length ? others : [{ sql, name: '' }, ...queries]);
    },
    rename: (sql, name) => set(queries.map((query) => (query.sql === sql ? { sql, name } : query))),
  };
}

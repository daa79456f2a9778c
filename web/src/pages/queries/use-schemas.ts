import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { SqlTables } from '../../components/code-mirror.ts';
import { columnsOf } from '../../lib/table-columns.ts';

/** Maximum tables of one query text whose columns are read. */
const MAX_TABLES = 8;
const NAME = /"([^"\n]+)"|[A-Za-z_][\w.]*/g;

/** The tables of `known` that a query text names, in order of appearance. */
function tablesIn(sql: string, known: ReadonlySet<string>): string[] {
  const found = new Set<string>();
  for (const [text, quoted] of sql.matchAll(NAME)) {
    const name = quoted ?? text;
    if (known.has(name)) found.add(name);
    if (found.size === MAX_TABLES) break;
  }
  return [...found];
}

export interface Schemas {
  /** The tables that the query names, with their columns; undefined while they are being read or when they may not be read. */
  readonly inQuery: readonly { readonly name: string; readonly columns: readonly string[] | undefined }[];
  /** All tables, with the columns that are known, for completion. */
  readonly completion: SqlTables;
}

/** Reads the schema of a table when the query names it: once for each visit, however many tables there are. */
export function useSchemas(sql: string, names: readonly string[]): Schemas {
  const [columns, setColumns] = useState<Readonly<Record<string, string[]>>>({});
  const requested = useRef(new Set<string>());
  const known = useMemo(() => new Set(names), [names]);
  const inQuery = useMemo(() => tablesIn(sql, known), [sql, known]);
  const gone = useRef(new AbortController());
  useEffect(() => () => gone.current.abort(), []);
  const key = inQuery.join('\n');
  useEffect(() => {
    for (const name of inQuery) {
      if (requested.current.has(name)) continue;
      requested.current.add(name);
      columnsOf(name, gone.current.signal).then(
        (list) => setColumns((old) => ({ ...old, [name]: list })),
        // The caller may not read this schema: no completion of its columns.
        () => undefined,
      );
    }
  }, [key]);
  const completion = useMemo(
    () => ({
      columns: { ...Object.fromEntries(names.map((name) => [name, [] as string[]])), ...columns },
      first: inQuery[0],
    }),
    [names, columns, inQuery[0]],
  );
  return { inQuery: inQuery.map((name) => ({ name, columns: columns[name] })), completion };
}

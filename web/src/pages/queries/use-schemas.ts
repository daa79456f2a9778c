import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { SqlTables } from '../../components/code-mirror.ts';
import { columnsOf, type TableColumn } from '../../lib/table-columns.ts';

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
  /** The tables that the query names. */
  readonly inQuery: readonly string[];
  /** Columns by table, of those that were read; absent while they are being read or when they may not be read. */
  readonly columns: Readonly<Record<string, readonly TableColumn[]>>;
  /** All tables, with the columns that are known, for completion. */
  readonly completion: SqlTables;
}

/**
 * Reads the schema of a table when the query names it, or when it is opened: once for each visit, however many tables there are.
 * @param opened further tables
 */
export function useSchemas(sql: string, names: readonly string[], opened: readonly string[]): Schemas {
  const [columns, setColumns] = useState<Schemas['columns']>({});
  const requested = useRef(new Set<string>());
  const known = useMemo(() => new Set(names), [names]);
  const inQuery = useMemo(() => tablesIn(sql, known), [sql, known]);
  const gone = useRef(new AbortController());
  useEffect(() => () => gone.current.abort(), []);
  const wanted = [...new Set([...inQuery, ...opened])];
  useEffect(() => {
    for (const name of wanted) {
      if (requested.current.has(name)) continue;
      requested.current.add(name);
      columnsOf(name, gone.current.signal).then(
        (list) => setColumns((old) => ({ ...old, [name]: list })),
        // The caller may not read this schema: no completion of its columns.
        () => undefined,
      );
    }
  }, [wanted.join('\n')]);
  const completion = useMemo(() => {
    const read = Object.entries(columns).map(([name, list]) => [name, list.map((column) => column.name)] as const);
    const all = names.map((name) => [name, [] as string[]] as const);
    return { columns: Object.fromEntries([...all, ...read]), first: inQuery[0] };
  }, [names, columns, inQuery[0]]);
  return { inQuery, columns, completion };
}

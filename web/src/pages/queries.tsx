import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { BusyButton, ErrorNote } from '../components/basics.tsx';
import { CodeEditor } from '../components/code-editor.tsx';
import { CopyAs } from '../components/copy-as.tsx';
import { ResultGrid } from '../components/grid/result-grid.tsx';
import { Statistics } from '../components/statistics.tsx';
import { StoredResults } from '../components/stored-results.tsx';
import { call } from '../lib/api.ts';
import { queryCall } from '../lib/copy.ts';
import { whole } from '../lib/format.ts';
import { useLocation } from '../lib/router.ts';
import { useMay } from '../lib/session.ts';
import type { TableNames } from '../lib/types.ts';
import { useData } from '../lib/use-data.ts';
import { Downloads } from './queries/downloads.tsx';
import { EngineError } from './queries/engine-error.tsx';
import { MyQueries } from './queries/my-queries.tsx';
import { Pager } from './queries/pager.tsx';
import { RunningBar } from './queries/running-bar.tsx';
import { Tables } from './queries/tables.tsx';
import { storedAt } from './queries/query-run.ts';
import { useResult } from './queries/use-result.ts';
import { useSchemas } from './queries/use-schemas.ts';

const PAGE_SIZES = [100, 1000, 10_000];

export function QueriesPage(): JSX.Element {
  const { query } = useLocation();
  const [sql, setSql] = useState(query.get('sql') ?? '');
  /** Counts the texts that are set other than by typing. */
  const [revision, setRevision] = useState(0);
  const [size, setSize] = useState(100);
  const mayList = useMay('GetResponseStore');
  const tables = useData('tables', (signal) => call<TableNames>('/tables', { signal }));
  const names = useMemo(() => (tables.value?.tables ?? []).toSorted(), [tables.value]);
  const { inQuery, completion } = useSchemas(sql, names);
  const result = useResult(size);
  const { page, running } = result;
  // A link or Back leads to another query. Text that is typed meanwhile stays otherwise.
  const addressed = query.get('sql') ?? '';
  const followed = useRef(addressed);
  useEffect(() => {
    if (addressed === '' || addressed === followed.current) return;
    followed.current = addressed;
    setSql(addressed);
    setRevision((count) => count + 1);
  }, [addressed]);
  const run = (): Promise<void> => {
    followed.current = sql;
    return result.run(sql, size);
  };

  return (
    <>
      <h1>Queries</h1>
      <section class="card" aria-label="SQL">
        <CodeEditor
          value={sql}
          revision={revision}
          onChange={setSql}
          label="SQL"
          language="sql"
          tables={completion}
          onRun={() => void run()}
        />
        <div class="row">
          <BusyButton class="primary" onPress={run} disabled={sql.trim() === ''}>
            Run
          </BusyButton>
          <label class="inline">
            <span>Rows per page</span>
            <select
              value={String(size)}
              onChange={(event) => {
                const next = Number(event.currentTarget.value);
                setSize(next);
                if (page && page.numRowsResultSet > 0) void result.go(page.offset, next);
              }}
            >
              {PAGE_SIZES.map((choice) => (
                <option key={choice} value={String(choice)}>
                  {whole(choice)}
                </option>
              ))}
            </select>
          </label>
          {sql.trim() !== '' && <CopyAs call={queryCall(sql)} />}
          <span class="muted">Ctrl+Enter runs the query. A query without LIMIT returns 10 rows.</span>
        </div>
        {running && <RunningBar key={running.since} query={running} onCancel={result.cancel} />}
        {result.notice !== undefined && (
          <p class="note" role="status">
            {result.notice}
          </p>
        )}
        <Tables
          names={names}
          inQuery={inQuery}
          onPick={(name) => {
            setSql(`SELECT * FROM ${/^[A-Za-z_]\w*$/.test(name) ? name : `"${name}"`} LIMIT 1000`);
            setRevision(revision + 1);
          }}
        />
        <ErrorNote message={tables.error} />
        {result.error !== undefined && <EngineError message={result.error} />}
        {(page?.exceptions ?? []).map((exception, index) => (
          <EngineError message={exception.message} key={index} />
        ))}
      </section>
      {page?.resultTable && (
        <section class="card" aria-label="Result" id="result">
          <Pager page={page} size={size} onGo={(offset) => result.go(offset, size)} />
          <ResultGrid page={page} />
          <Downloads
            key={page.requestId}
            result={{ requestId: page.requestId, numRows: page.numRowsResultSet, headers: storedAt(page) }}
          />
          <Statistics page={page} />
        </section>
      )}
      <MyQueries turn={result.changes} />
      {mayList && (
        <StoredResults
          turn={result.changes}
          onOpen={async (requestId) => {
            await result.open(requestId, size);
            document.getElementById('result')?.scrollIntoView({ block: 'start' });
          }}
        />
      )}
    </>
  );
}

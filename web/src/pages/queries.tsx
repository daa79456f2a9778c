import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { BusyButton, ErrorNote, Warnings } from '../components/basics.tsx';
import { CodeEditor } from '../components/code-editor.tsx';
import { CopyAs } from '../components/copy-as.tsx';
import { ResultGrid } from '../components/grid/result-grid.tsx';
import { Statistics } from '../components/statistics.tsx';
import { StoredResults } from '../components/stored-results.tsx';
import { call } from '../lib/api.ts';
import { queryCall } from '../lib/copy.ts';
import { whole } from '../lib/format.ts';
import { warningsOf } from '../lib/notices.ts';
import { useMay } from '../lib/session.ts';
import type { CursorResponse, TableNames } from '../lib/types.ts';
import { useData } from '../lib/use-data.ts';
import { Downloads } from './queries/downloads.tsx';
import { EngineError } from './queries/engine-error.tsx';
import { MyQueries } from './queries/my-queries.tsx';
import { Pager } from './queries/pager.tsx';
import { RunningBar } from './queries/running-bar.tsx';
import { Tables } from './queries/tables.tsx';
import { storedAt } from './queries/query-run.ts';
import { useQueryText, type QueryText } from './queries/use-query-text.ts';
import { useResult, type Result } from './queries/use-result.ts';
import { useSchemas } from './queries/use-schemas.ts';

const PAGE_SIZES = [100, 1000, 10_000];

function RowsPerPage(props: { size: number; onChange: (size: number) => void }): JSX.Element {
  return (
    <label class="inline">
      <span>Rows per page</span>
      <select value={String(props.size)} onChange={(event) => props.onChange(Number(event.currentTarget.value))}>
        {PAGE_SIZES.map((choice) => (
          <option key={choice} value={String(choice)}>
            {whole(choice)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The errors of the query and of its parts. */
function QueryErrors(props: { result: Result }): JSX.Element {
  const { error, page } = props.result;
  return (
    <>
      {error !== undefined && <EngineError message={error} />}
      {(page?.exceptions ?? []).map((exception, index) => (
        <EngineError message={exception.message} key={index} />
      ))}
    </>
  );
}

interface QueryFormProps {
  text: QueryText;
  result: Result;
  /** Rows of a page. */
  size: number;
  onSize: (size: number) => void;
}

/** The editor, what runs, and what went wrong. */
function QueryForm(props: QueryFormProps): JSX.Element {
  const { text, result, size } = props;
  const { sql } = text;
  const { running, notice } = result;
  const tables = useData('tables', (signal) => call<TableNames>('/tables', { signal }));
  const names = useMemo(() => (tables.value?.tables ?? []).toSorted(), [tables.value]);
  const { inQuery, completion } = useSchemas(sql, names);
  const run = (): Promise<void> => result.run(sql, size);
  return (
    <section class="card" aria-label="SQL">
      <CodeEditor
        value={sql}
        revision={text.revision}
        onChange={text.type}
        label="SQL"
        language="sql"
        tables={completion}
        onRun={() => void run()}
      />
      <div class="row">
        <BusyButton class="primary" onPress={run} disabled={sql.trim() === ''}>
          Run
        </BusyButton>
        <RowsPerPage size={size} onChange={props.onSize} />
        {sql.trim() !== '' && <CopyAs call={queryCall(sql)} />}
        <span class="muted">Ctrl+Enter runs the query. A query without LIMIT returns 10 rows.</span>
      </div>
      {running && <RunningBar key={running.since} query={running} onCancel={result.cancel} />}
      <Notice text={notice} />
      <Tables names={names} inQuery={inQuery} onPick={(name) => text.replace(selectAll(name))} />
      <ErrorNote message={tables.error} retry={tables.reload} />
      <QueryErrors result={result} />
    </section>
  );
}

function Notice(props: { text: string | undefined }): JSX.Element | null {
  if (props.text === undefined) return null;
  return (
    <p class="note" role="status">
      {props.text}
    </p>
  );
}

const selectAll = (table: string): string =>
  `SELECT * FROM ${/^[A-Za-z_]\w*$/.test(table) ? table : `"${table}"`} LIMIT 1000`;

/** The rows, and the ways to get them out of the page. */
function ResultSection(props: {
  page: CursorResponse;
  size: number;
  onGo: (offset: number) => Promise<void>;
}): JSX.Element {
  const { page } = props;
  return (
    <section class="card" aria-label="Result" id="result">
      <Pager page={page} size={props.size} onGo={props.onGo} />
      <Warnings warnings={warningsOf(page)} />
      <ResultGrid page={page} />
      <Downloads
        key={page.requestId}
        result={{ requestId: page.requestId, numRows: page.numRowsResultSet, headers: storedAt(page) }}
      />
      <Statistics page={page} />
    </section>
  );
}

export function QueriesPage(): JSX.Element {
  const text = useQueryText();
  const [size, setSize] = useState(100);
  const mayList = useMay('GetResponseStore');
  const result = useResult(size, text.isOf);
  const { page, changes } = result;
  const resize = (next: number): void => {
    setSize(next);
    if (page && page.numRowsResultSet > 0) void result.go(page.offset, next);
  };
  const open = async (requestId: string): Promise<void> => {
    await result.open(requestId, size);
    document.getElementById('result')?.scrollIntoView({ block: 'start' });
  };
  return (
    <>
      <h1>Queries</h1>
      <QueryForm text={text} result={result} size={size} onSize={resize} />
      {page?.resultTable && <ResultSection page={page} size={size} onGo={(offset) => result.go(offset, size)} />}
      <MyQueries turn={changes} onOpen={text.show} />
      {mayList && <StoredResults turn={changes} onOpen={open} />}
    </>
  );
}

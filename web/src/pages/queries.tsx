import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { BusyButton, Warnings } from '../components/basics.tsx';
import { ErrorNote } from '../components/loaded.tsx';
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
import { selectAll, sqlName } from '../lib/sql.ts';
import type { CursorResponse, TableNames } from '../lib/types.ts';
import { useData } from '../lib/use-data.ts';
import { Downloads } from './queries/downloads.tsx';
import { EngineError } from './queries/engine-error.tsx';
import { History } from './queries/history.tsx';
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

function RunRow(props: QueryFormProps & { selected: string; onRun: () => Promise<void> }): JSX.Element {
  const { sql } = props.text;
  return (
    <div class="row">
      <BusyButton class="primary" onPress={props.onRun} disabled={sql.trim() === ''}>
        {props.selected.trim() === '' ? 'Run' : 'Run the selection'}
      </BusyButton>
      <RowsPerPage size={props.size} onChange={props.onSize} />
      {sql.trim() !== '' && <CopyAs call={queryCall(sql)} />}
      <span class="muted">Ctrl+Enter runs the query, or what is selected. A query without LIMIT returns 10 rows.</span>
    </div>
  );
}

/** Names that are switched on and off. */
function useToggled(): [readonly string[], (name: string) => void] {
  const [names, setNames] = useState<readonly string[]>([]);
  const toggle = (name: string): void =>
    setNames(names.includes(name) ? names.filter((other) => other !== name) : [...names, name]);
  return [names, toggle];
}

/** The editor beside the tables, what runs, and what went wrong. */
function QueryForm(props: QueryFormProps): JSX.Element {
  const { text, result, size } = props;
  const { sql } = text;
  const tables = useData('tables', (signal) => call<TableNames>('/tables', { signal }));
  const names = useMemo(() => (tables.value?.tables ?? []).toSorted(), [tables.value]);
  const [opened, toggle] = useToggled();
  const schemas = useSchemas(sql, names, opened);
  const [selected, setSelected] = useState('');
  const inserter = useRef<((text: string) => void) | undefined>(undefined);
  const run = (part: string): Promise<void> => result.run(part.trim() === '' ? sql : part, size);
  return (
    <section class="card query-form" aria-label="SQL">
      <div class="query-editor">
        <CodeEditor
          value={sql}
          revision={text.revision}
          onChange={text.type}
          label="SQL"
          language="sql"
          tables={schemas.completion}
          onRun={(part) => void run(part)}
          onSelect={setSelected}
          inserter={inserter}
        />
        <RunRow {...props} selected={selected} onRun={() => run(selected)} />
        <QueryState result={result} />
        <History typed={text.typed} onPick={text.replace} />
        <ErrorNote message={tables.error} retry={tables.reload} />
      </div>
      <Tables
        names={names}
        schemas={schemas}
        opened={opened}
        onToggle={toggle}
        onPickTable={(name) => text.replace(selectAll(name, 1000))}
        onPickColumn={(name) => inserter.current?.(sqlName(name))}
      />
    </section>
  );
}

/** What runs, and what went wrong. */
function QueryState(props: { result: Result }): JSX.Element {
  const { running, notice, cancel } = props.result;
  return (
    <>
      {running && <RunningBar key={running.since} query={running} onCancel={cancel} />}
      <Notice text={notice} />
      <QueryErrors result={props.result} />
    </>
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

/** Brings the rows or the error of a query that was run here into view. The pressed button was disabled meanwhile: the focus goes on to the rows. */
function useRevealed({ running, page, error }: Result): void {
  const wasRunning = useRef(false);
  useEffect(() => {
    if (running) wasRunning.current = true;
    if (running || !wasRunning.current || (!page && error === undefined)) return;
    wasRunning.current = false;
    // Only its begin, so that the editor stays in view where there is space for both.
    document.querySelector('#result .pager, .engine-error')?.scrollIntoView({ block: 'nearest' });
    if (document.activeElement === document.body)
      document.querySelector<HTMLElement>('#result [role=grid]')?.focus({ preventScroll: true });
  }, [running !== undefined, page, error]);
}

export function QueriesPage(): JSX.Element {
  const text = useQueryText();
  const [size, setSize] = useState(100);
  const mayList = useMay('GetResponseStore');
  const result = useResult(size, text.isOf);
  const { page, changes } = result;
  useRevealed(result);
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

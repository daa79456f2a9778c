import type { JSX } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { BusyButton, ErrorNote } from '../components/basics.tsx';
import { CodeEditor } from '../components/code-editor.tsx';
import { ResultGrid, Statistics } from '../components/result-grid.tsx';
import { StoredResults } from '../components/stored-results.tsx';
import { call, callText, messageOfError } from '../lib/api.ts';
import { parseExact } from '../lib/exact-json.ts';
import { whole } from '../lib/format.ts';
import { setQuery, useLocation } from '../lib/router.ts';
import { useMay } from '../lib/session.ts';
import type { CursorResponse } from '../lib/types.ts';
import { useData } from '../lib/use-data.ts';

const PAGE_SIZES = [100, 1000, 10_000];

/** Tables that the caller may see, with their columns where the caller may read the schema. */
async function loadTables(signal: AbortSignal): Promise<Record<string, string[]>> {
  const { tables } = await call<{ tables: string[] }>('/tables', { signal });
  const known: Record<string, string[]> = {};
  const names = tables.slice(0, 200);
  for (const name of names) known[name] = [];
  const queue = [...names];
  const worker = async (): Promise<void> => {
    for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
      try {
        const schema = await call<Record<string, { name: string }[] | undefined>>(
          `/tables/${encodeURIComponent(name)}/schema`,
          { signal },
        );
        known[name] = ['dimensionFieldSpecs', 'metricFieldSpecs', 'dateTimeFieldSpecs', 'complexFieldSpecs'].flatMap(
          (group) => (schema[group] ?? []).map((field) => field.name),
        );
      } catch {
        // The caller may not read this schema: no completion of its columns.
      }
    }
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
  return known;
}

function Pager(props: { page: CursorResponse; size: number; onGo: (offset: number) => Promise<void> }): JSX.Element {
  const { page, size, onGo } = props;
  const total = page.numRowsResultSet;
  const lastOffset = Math.max(0, Math.floor((total - 1) / size) * size);
  const [jump, setJump] = useState('');
  return (
    <div class="pager" role="navigation" aria-label="Pages of the result">
      <BusyButton onPress={() => onGo(0)} disabled={page.offset === 0}>
        First
      </BusyButton>
      <BusyButton onPress={() => onGo(Math.max(0, page.offset - size))} disabled={page.offset === 0}>
        Previous
      </BusyButton>
      <span role="status">
        rows {whole(total === 0 ? 0 : page.offset + 1)}–{whole(page.offset + page.numRows)} of {whole(total)}
      </span>
      <BusyButton onPress={() => onGo(page.offset + size)} disabled={page.offset + page.numRows >= total}>
        Next
      </BusyButton>
      <BusyButton onPress={() => onGo(lastOffset)} disabled={page.offset + page.numRows >= total}>
        Last
      </BusyButton>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const row = Number.parseInt(jump, 10);
          if (Number.isSafeInteger(row) && row >= 1 && row <= total) void onGo(row - 1);
        }}
      >
        <label class="inline">
          <span>Go to row</span>
          <input
            type="number"
            min={1}
            max={total}
            value={jump}
            onInput={(event) => setJump(event.currentTarget.value)}
          />
        </label>
      </form>
    </div>
  );
}

export function QueriesPage(): JSX.Element {
  const { query } = useLocation();
  const [sql, setSql] = useState(query.get('sql') ?? '');
  /** Counts the texts that are set other than by typing. */
  const [revision, setRevision] = useState(0);
  const [size, setSize] = useState(100);
  const [page, setPage] = useState<CursorResponse>();
  const [error, setError] = useState<string>();
  const [turn, setTurn] = useState(0);
  const running = useRef<AbortController | undefined>(undefined);
  const [busy, setBusy] = useState(false);
  const mayList = useMay('GetResponseStore');
  const tables = useData('tables', loadTables);
  const names = useMemo(() => Object.keys(tables.value ?? {}).toSorted(), [tables.value]);

  const attempt = async (work: (signal: AbortSignal) => Promise<CursorResponse>): Promise<void> => {
    running.current?.abort();
    const abort = new AbortController();
    running.current = abort;
    setBusy(true);
    setError(undefined);
    try {
      setPage(await work(abort.signal));
    } catch (failure) {
      if (!abort.signal.aborted) setError(messageOfError(failure));
    } finally {
      if (running.current === abort) setBusy(false);
    }
  };
  const run = (): Promise<void> =>
    attempt(async (signal) => {
      setQuery({ sql });
      const text = await callText(`/query/sql?doPaginate=true&numRows=${size}`, {
        method: 'POST',
        body: { sql },
        signal,
        timeoutMs: 300_000,
      });
      setTurn((n) => n + 1);
      return parseExact(text) as CursorResponse;
    });
  const read = (requestId: string, offset: number, numRows: number, headers: Record<string, string>): Promise<void> =>
    attempt(async (signal) => {
      const text = await callText(
        `/query/${encodeURIComponent(requestId)}/results?offset=${offset}&numRows=${numRows}`,
        { signal, headers },
      );
      // The statistics are the same in every page.
      return parseExact(text) as CursorResponse;
    });
  const go = async (offset: number, numRows = size): Promise<void> => {
    if (!page) return;
    // The gateway that stores the result: another one may receive the request.
    const { brokerHost: FORWARD_HOST, brokerPort } = page;
    await read(
      page.requestId,
      offset,
      numRows,
      FORWARD_HOST === undefined ? {} : { FORWARD_HOST, FORWARD_PORT: String(brokerPort) },
    );
  };

  const exceptions = page?.exceptions ?? [];
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
          tables={tables.value}
          onRun={() => void run()}
        />
        <div class="row">
          <BusyButton class="primary" onPress={run} disabled={sql.trim() === ''}>
            Run
          </BusyButton>
          {busy && (
            <button type="button" onClick={() => running.current?.abort()}>
              Cancel
            </button>
          )}
          <label class="inline">
            <span>Rows per page</span>
            <select
              value={String(size)}
              onChange={(event) => {
                const next = Number(event.currentTarget.value);
                setSize(next);
                if (page && page.numRowsResultSet > 0) void go(page.offset, next);
              }}
            >
              {PAGE_SIZES.map((choice) => (
                <option key={choice} value={String(choice)}>
                  {whole(choice)}
                </option>
              ))}
            </select>
          </label>
          <span class="muted">Ctrl+Enter runs the query. A query without LIMIT returns 10 rows.</span>
        </div>
        {names.length > 0 && (
          <details>
            <summary>
              {names.length} {names.length === 1 ? 'table' : 'tables'} available
            </summary>
            <ul class="tables">
              {names.map((name) => (
                <li key={name}>
                  <button
                    type="button"
                    class="link"
                    onClick={() => {
                      setSql(`SELECT * FROM ${/^[A-Za-z_]\w*$/.test(name) ? name : `"${name}"`} LIMIT 1000`);
                      setRevision(revision + 1);
                    }}
                  >
                    {name}
                  </button>{' '}
                  <span class="muted">{(tables.value?.[name] ?? []).join(', ')}</span>
                </li>
              ))}
            </ul>
          </details>
        )}
        <ErrorNote message={error ?? tables.error} />
        {exceptions.map((exception, index) => (
          <div class="note note-error" role="alert" key={index}>
            <pre>{exception.message}</pre>
          </div>
        ))}
      </section>
      {page?.resultTable && (
        <section class="card" aria-label="Result" id="result">
          <Pager page={page} size={size} onGo={go} />
          <ResultGrid page={page} />
          <Statistics page={page} />
        </section>
      )}
      {mayList && (
        <StoredResults
          turn={turn}
          onOpen={async (requestId) => {
            await read(requestId, 0, size, {});
            document.getElementById('result')?.scrollIntoView({ block: 'start' });
          }}
        />
      )}
    </>
  );
}

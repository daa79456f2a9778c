import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { Badge, BusyButton, Link, When } from '../../components/basics.tsx';
import { ErrorNote } from '../../components/loaded.tsx';
import { DangerButton } from '../../components/danger-button.tsx';
import { CopyAs } from '../../components/copy-as.tsx';
import { Table } from '../../components/table.tsx';
import { call, callText } from '../../lib/api.ts';
import { queryCall, type RestCall } from '../../lib/copy.ts';
import { bytes, duration, whole } from '../../lib/format.ts';
import type { MyQueries as Listing, QueryStatus } from '../../lib/types.ts';
import { useChange } from '../../lib/use-change.ts';
import { useData } from '../../lib/use-data.ts';
import { visibleText } from '../../lib/visible.ts';
import { cancelQuery, storedAt } from './query-run.ts';

const POLL_MS = 30_000;
const ACTIVE_POLL_MS = 2000;
const MAX_LISTED = 100;

const TONES: Readonly<Record<QueryStatus['state'], 'good' | 'bad' | 'warn' | 'plain'>> = {
  queued: 'warn',
  running: 'warn',
  storing: 'warn',
  done: 'good',
  failed: 'bad',
  cancelled: 'plain',
};

const isActive = ({ state }: QueryStatus): boolean => state === 'queued' || state === 'running' || state === 'storing';

/** The rows of the result or, if there are none, the query itself. */
function callOf({ requestId, sql, state }: QueryStatus): RestCall {
  return state === 'done' || sql === undefined
    ? { method: 'GET', path: `/query/${encodeURIComponent(requestId)}/results` }
    : queryCall(sql);
}

interface QueryRowProps {
  query: QueryStatus;
  onChange: (work: () => Promise<unknown>) => Promise<void>;
  /** Shows the query, and its rows if it has some. */
  onOpen: () => void;
}

/** The text, which opens the query, and why it failed. */
function QueryTextCell(props: QueryRowProps): JSX.Element {
  const { requestId, sql, state, error } = props.query;
  const text = <code class="sql">{visibleText(sql ?? requestId)}</code>;
  const hasRows = state === 'done' || isActive(props.query);
  return (
    <td class="wrap" title={sql}>
      {hasRows ? (
        <Link to={`/queries?result=${encodeURIComponent(requestId)}`} onFollow={props.onOpen}>
          {text}
        </Link>
      ) : (
        <button type="button" class="link" onClick={props.onOpen}>
          {text}
        </button>
      )}
      {state === 'failed' && error && <QueryFailure message={error.message} />}
    </td>
  );
}

/** The first line of an error, and the others on demand. */
function QueryFailure(props: { message: string }): JSX.Element {
  const [first = '', ...more] = visibleText(props.message).trim().split('\n');
  if (more.length === 0) return <p class="muted">{first}</p>;
  return (
    <details class="muted">
      <summary>{first}</summary>
      <pre>{more.join('\n')}</pre>
    </details>
  );
}

function QueryActions(props: QueryRowProps): JSX.Element {
  const { query, onChange } = props;
  const { requestId, sql, state } = query;
  const remove = (): Promise<string> =>
    callText(`/query/resultStore/${encodeURIComponent(requestId)}`, { method: 'DELETE', headers: storedAt(query) });
  return (
    <>
      <CopyAs row={sql ?? requestId} call={callOf(query)} />{' '}
      {isActive(query) && (
        <BusyButton class="small" onPress={() => onChange(() => cancelQuery(query))}>
          Cancel
        </BusyButton>
      )}
      {state === 'done' && (
        <DangerButton
          small
          label="Delete"
          about={`the result ${requestId}`}
          consequence="The stored rows are deleted. The query can be run again."
          onConfirm={() => onChange(remove)}
        />
      )}
    </>
  );
}

function QueryRow(props: QueryRowProps): JSX.Element {
  const { state, numRowsResultSet, bytes: size, elapsedMs, submissionTimeMs, expirationTimeMs } = props.query;
  return (
    <tr>
      <QueryTextCell {...props} />
      <td>
        <Badge tone={TONES[state]}>{state}</Badge>
      </td>
      <td class="number">{whole(numRowsResultSet)}</td>
      <td class="number">{bytes(size)}</td>
      <td class="number">{elapsedMs === undefined ? '' : duration(elapsedMs)}</td>
      <td>
        <When time={submissionTimeMs} inRow />
      </td>
      <td>{expirationTimeMs === undefined ? '' : <When time={expirationTimeMs} inRow />}</td>
      <td>
        <QueryActions {...props} />
      </td>
    </tr>
  );
}

/** The caller's own queries and results, newest first. @param props.turn a new value reloads the list */
export function MyQueries(props: { turn: number; onOpen: (query: QueryStatus) => void }): JSX.Element {
  const list = useData('mine', (signal) => call<Listing>(`/query/mine?limit=${MAX_LISTED}`, { signal }), POLL_MS);
  const queries = list.value?.queries ?? [];
  const active = queries.some(isActive);
  useEffect(() => {
    if (props.turn > 0) list.reload();
  }, [props.turn]);
  useEffect(() => {
    if (!active) return undefined;
    const timer = setInterval(() => !document.hidden && list.reload(), ACTIVE_POLL_MS);
    return () => clearInterval(timer);
  }, [active]);
  const { error, attempt } = useChange(list.reload);
  const change = async (work: () => Promise<unknown>): Promise<void> => {
    await attempt(work);
  };
  return (
    <section class="card" aria-labelledby="mine">
      <h2 id="mine">My results</h2>
      <ErrorNote message={error ?? (list.value ? undefined : list.error)} retry={list.reload} />
      {list.value && queries.length === 0 && <p class="muted">No results. A query that you run appears here.</p>}
      {queries.length > 0 && (
        <Table
          label="My results"
          columns={['Query', 'State', '#Rows', '#Size', '#Took', 'Submitted', 'Expires', '(Copy, cancel or delete)']}
        >
          {queries.map((query) => (
            <QueryRow key={query.requestId} query={query} onChange={change} onOpen={() => props.onOpen(query)} />
          ))}
        </Table>
      )}
      {list.value?.nextParams !== undefined && (
        <p class="muted">Showing the newest {MAX_LISTED}. The REST call GET /query/mine lists the others.</p>
      )}
      {list.value?.incomplete === true && (
        <p class="muted">Another gateway did not respond: results that it stores are missing.</p>
      )}
    </section>
  );
}

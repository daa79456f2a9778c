import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { call } from '../lib/api.ts';
import { bytes, nameOf, whole } from '../lib/format.ts';
import { useSession } from '../lib/session.ts';
import type { ResultStoreUsage, StoredResult, StoredResultListing } from '../lib/types.ts';
import { limitOf } from '../lib/usage.ts';
import { useChange } from '../lib/use-change.ts';
import { useData } from '../lib/use-data.ts';
import { BusyButton, Link, Name, When } from './basics.tsx';
import { ErrorNote } from './loaded.tsx';
import { DangerButton } from './danger-button.tsx';
import { CopyAs } from './copy-as.tsx';
import { Table } from './table.tsx';

/** Usage of the store, with marks for the thresholds of the cleaner. */
function UsageBar(props: { usage: ResultStoreUsage }): JSX.Element {
  const { usedBytes, criticalPercent, targetPercent } = props.usage;
  const { limitBytes, cleaned } = limitOf(props.usage);
  if (limitBytes === undefined)
    return (
      <p class="muted">
        {bytes(usedBytes)} stored, no limit. Results are deleted when they expire; the cleaner is disabled.
      </p>
    );
  const percent = limitBytes === 0 ? 0 : Math.min(100, (usedBytes / limitBytes) * 100);
  const rule = cleaned
    ? `cleanup starts at ${criticalPercent} % and stops at ${targetPercent} %`
    : 'the capacity of the store';
  const text = `${bytes(usedBytes)} of ${bytes(limitBytes)} (${percent.toFixed(1)} %); ${rule}`;
  return (
    <figure class="usage">
      <svg viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label={text}>
        <rect width="100" height="8" class="usage-quota" />
        <rect width={percent} height="8" class={percent > criticalPercent ? 'usage-critical' : 'usage-used'} />
        {cleaned && <rect x={targetPercent} width="0.3" height="8" class="usage-mark" />}
        {cleaned && <rect x={criticalPercent} width="0.3" height="8" class="usage-mark" />}
      </svg>
      <figcaption class="muted">{text}</figcaption>
    </figure>
  );
}

/** Maximum rows of a table without virtual scrolling. */
const MAX_SHOWN = 200;

interface StoredRowProps {
  result: StoredResult;
  onOpen: () => Promise<void>;
  onDelete: () => Promise<void>;
}

function StoredActions(props: StoredRowProps): JSX.Element {
  const { requestId } = props.result;
  const path = `/query/${encodeURIComponent(requestId)}/results`;
  return (
    <>
      <CopyAs row={`the result ${requestId}`} call={{ method: 'GET', path }} />{' '}
      <BusyButton class="small" onPress={props.onOpen}>
        Open
      </BusyButton>{' '}
      <DangerButton
        small
        label="Delete"
        about={`the result ${requestId}`}
        consequence={`The stored rows of \`${requestId}\` are deleted. The query can be run again.`}
        onConfirm={props.onDelete}
      />
    </>
  );
}

function StoredRow(props: StoredRowProps): JSX.Element {
  const { requestId, bytes: size, submissionTimeMs, expirationTimeMs, owner, responseMetadata } = props.result;
  return (
    <tr>
      <td>
        <Link class="id" to={`/queries?result=${encodeURIComponent(requestId)}`}>
          {requestId}
        </Link>
      </td>
      <td class="number">{whole(responseMetadata.reduce((sum, part) => sum + part.numRows, 0))}</td>
      <td class="number">{bytes(size)}</td>
      <td>
        <When time={submissionTimeMs} inRow />
      </td>
      <td>
        <When time={expirationTimeMs} inRow />
      </td>
      <td>
        <Name text={nameOf(owner)} />
      </td>
      <td>
        <StoredActions {...props} />
      </td>
    </tr>
  );
}

function StoredTable(props: {
  results: readonly StoredResult[];
  onOpen: (requestId: string) => Promise<void>;
  onDelete: (requestId: string) => Promise<void>;
}): JSX.Element | null {
  const { results } = props;
  if (results.length === 0) return <p class="muted">No stored results.</p>;
  return (
    <>
      <Table
        label="Stored results"
        columns={['Request', '#Rows', '#Size', 'Submitted', 'Expires', 'Owner', '(Copy, open or delete)']}
      >
        {results.slice(0, MAX_SHOWN).map((result) => (
          <StoredRow
            key={result.requestId}
            result={result}
            onOpen={() => props.onOpen(result.requestId)}
            onDelete={() => props.onDelete(result.requestId)}
          />
        ))}
      </Table>
      {results.length > MAX_SHOWN && (
        <p class="muted">
          Showing the newest {whole(MAX_SHOWN)} of {whole(results.length)} results.
        </p>
      )}
    </>
  );
}

/** The results of all users, the newest first, and the usage of the store. */
export function StoredResults(props: {
  /** A new value reloads the list. */
  turn: number;
  onOpen: (requestId: string) => Promise<void>;
}): JSX.Element {
  const list = useData('stored', (signal) => call<StoredResultListing>('/query/resultStore', { signal }), 30_000);
  const usage = useData('usage', (signal) => call<ResultStoreUsage>('/query/resultStore/usage', { signal }), 30_000);
  const reload = (): void => {
    list.reload();
    usage.reload();
  };
  const { error, send } = useChange(reload);
  useEffect(() => {
    if (props.turn > 0) reload();
  }, [props.turn]);
  const { me } = useSession();
  const [onlyMine, setOnlyMine] = useState(false);
  const all = list.value?.resultMetadataList ?? [];
  const results = all
    .filter(({ owner }) => !onlyMine || owner === me.srn)
    .toSorted((a, b) => b.submissionTimeMs - a.submissionTimeMs);
  const remove = async (id: string): Promise<void> => {
    await send(`/query/resultStore/${encodeURIComponent(id)}`, 'DELETE');
  };
  return (
    <section class="card" aria-labelledby="stored">
      <h2 id="stored">Stored results</h2>
      {usage.value ? <UsageBar usage={usage.value} /> : <ErrorNote message={list.error ? undefined : usage.error} />}
      <ErrorNote message={error ?? list.error} retry={list.reload} />
      {all.length > 0 && (
        <label class="inline">
          <input type="checkbox" checked={onlyMine} onChange={(event) => setOnlyMine(event.currentTarget.checked)} />
          <span>Only my results</span>
        </label>
      )}
      {list.value && <StoredTable results={results} onOpen={props.onOpen} onDelete={remove} />}
    </section>
  );
}

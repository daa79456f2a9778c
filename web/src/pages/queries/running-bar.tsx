import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { duration, whole } from '../../lib/format.ts';
import type { QueryStatus } from '../../lib/types.ts';
import type { RunningQuery } from './use-result.ts';

const TICK_MS = 100;

const STATES: Readonly<Partial<Record<QueryStatus['state'], string>>> = {
  queued: 'The query waits for a free place.',
  storing: 'The rows of the query arrive.',
};

/** A query that runs: its state, how long, how many rows so far, and the button to cancel it. */
export function RunningBar(props: { query: RunningQuery; onCancel: () => void }): JSX.Element {
  const { since, status } = props.query;
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  const rows = status?.numRowsResultSet ?? 0;
  return (
    <div class="running">
      <span role="status">{(status && STATES[status.state]) ?? 'The query is running.'}</span>
      {/* A timer is not announced, unlike a status. */}
      <span role="timer">{duration(Math.max(0, now - since))}</span>
      <progress aria-label="The query is running" />
      {rows > 0 && <span class="download-progress">{whole(rows)} rows so far</span>}
      <button type="button" onClick={props.onCancel}>
        Cancel
      </button>
    </div>
  );
}

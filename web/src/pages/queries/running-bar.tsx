import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { duration } from '../../lib/format.ts';

const TICK_MS = 100;

/** A query that runs: how long, and the button to cancel it. @param props.since epoch milliseconds */
export function RunningBar(props: { since: number; onCancel: () => void }): JSX.Element {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <div class="running">
      <span role="status">The query is running.</span>
      {/* A timer is not announced, unlike a status. */}
      <span role="timer">{duration(Math.max(0, now - props.since))}</span>
      <progress aria-label="The query is running" />
      <button type="button" onClick={props.onCancel}>
        Cancel
      </button>
    </div>
  );
}

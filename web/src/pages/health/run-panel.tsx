import type { JSX } from 'preact';
import { whole } from '../../lib/format.ts';
import { sayProgress, type CheckProgress, type Running } from './run-progress.ts';

const MARKS = { PASS: '✓', FAIL: '✕' } as const;

/** The run that is under way, check by check; the report of the run before stands below until it is over. */
export function RunPanel(props: { running: Running; checks: readonly CheckProgress[] }): JSX.Element {
  const { running, checks } = props;
  const { done, total } = running;
  return (
    <section class="card run" aria-labelledby="run">
      <h2 id="run">A run is under way</h2>
      <p class="run-said">
        <span role="status">{sayProgress(running)}</span>
        <span class="muted">
          {done !== undefined && total !== undefined
            ? `${whole(done)} of ${whole(total)} reads of the cluster`
            : 'begins to read the cluster'}
        </span>
      </p>
      <progress max={running.checksTotal} value={running.checks.length} aria-label="Progress of the run" />
      <ul class="run-checks" aria-label="Checks of this run">
        {checks.map(({ name, title, status }) => (
          <li key={name} class={`run-check run-${(status ?? 'waits').toLowerCase()}`}>
            <span class="mark" aria-hidden="true">
              {status === undefined ? '·' : MARKS[status]}
            </span>
            <span class="name" title={title}>
              {title}
            </span>
            <span class="sr-only">{status ?? 'waiting'}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

import type { JSX } from 'preact';
import { whole } from '../../lib/format.ts';
import type { Running } from '../../lib/types.ts';
import { progressText, type CheckProgress } from './run-progress.ts';

const MARKS = { PASS: '✓', FAIL: '✕' } as const;

/** Progress of the current run. The report below is that of the previous run until it has finished. */
export function RunPanel(props: { running: Running; checks: readonly CheckProgress[] }): JSX.Element {
  const { running, checks } = props;
  const { done, total } = running;
  return (
    <section class="card run" aria-labelledby="run">
      <h2 id="run">Health run in progress</h2>
      <p class="run-said">
        <span role="status">{progressText(running)}</span>
        <span class="muted">
          {done !== undefined && total !== undefined
            ? `${whole(done)} of ${whole(total)} reads of the cluster`
            : 'starting to read the cluster'}
        </span>
      </p>
      <progress max={running.checksTotal} value={running.checks.length} aria-label="Progress of the run" />
      <ul class="run-checks" aria-label="Checks of this run">
        {checks.map(({ name, title, status }) => (
          <li key={name} class={`run-check run-${(status ?? 'waiting').toLowerCase()}`}>
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

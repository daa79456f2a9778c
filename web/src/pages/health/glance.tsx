import type { JSX } from 'preact';
import { Badge, BusyButton, Moment, When } from '../../components/basics.tsx';
import { duration, elapsed } from '../../lib/format.ts';
import { href, navigate } from '../../lib/router.ts';
import { useMay } from '../../lib/session.ts';
import type { CheckEntry, HealthReport } from '../../lib/types.ts';

/** An older report is marked as outdated. */
const OLD_MS = 86_400_000;

type State = 'unknown' | 'good' | 'bad';

const MARKS: Readonly<Record<State, string>> = { unknown: '?', good: '✓', bad: '!' };

function stateOf(report: HealthReport): State {
  if (report.runTimestamp === null) return 'unknown';
  return report.checks.some(({ status }) => status === 'FAIL') ? 'bad' : 'good';
}

/** Time of the state: since the first of the failing checks has failed, or since the last failure has ended. */
function sinceOf(report: HealthReport, state: State): string | undefined {
  const checks = state === 'good' ? report.checks : report.checks.filter(({ status }) => status === 'FAIL');
  const times = checks.map((check) => check.since).filter((time) => time !== undefined);
  return times.toSorted().at(state === 'good' ? -1 : 0);
}

function headline(report: HealthReport, state: State): string {
  if (state === 'unknown') return 'No health report yet';
  if (state === 'good') return 'All checks pass';
  const failing = report.checks.filter(({ status }) => status === 'FAIL').length;
  return `${failing} of ${report.checks.length} checks ${failing === 1 ? 'fails' : 'fail'}`;
}

/** A coloured cell for each check. Hidden from screen readers, because the list below has the same content. */
function Strip(props: { checks: readonly CheckEntry[] }): JSX.Element {
  return (
    <div class="strip" aria-hidden="true">
      {props.checks.map(({ name, title, status, couldNotEvaluate }) => (
        <a
          key={name}
          tabIndex={-1}
          href={href(`/health?open=${name}`)}
          onClick={(event) => {
            event.preventDefault();
            navigate(`/health?open=${name}`);
          }}
          title={`${title}: ${couldNotEvaluate ? 'NOT READ' : status}`}
          class={status === 'PASS' ? 'cell-pass' : couldNotEvaluate ? 'cell-unread' : 'cell-fail'}
        />
      ))}
    </div>
  );
}

/** Summary of the report: state, duration of the state, age. */
export function Glance(props: { report: HealthReport; running: boolean; onRun: () => Promise<void> }): JSX.Element {
  const { report } = props;
  const mayRun = useMay('ExecuteTask');
  const { runTimestamp, durationMs } = report;
  const state = stateOf(report);
  const since = sinceOf(report, state);
  return (
    <section class={`glance glance-${state}`} aria-label="State of the cluster">
      <span class="glance-mark" aria-hidden="true">
        {MARKS[state]}
      </span>
      <div class="glance-said">
        <h1 aria-live="polite">{headline(report, state)}</h1>
        {since !== undefined && (
          <p>
            {state === 'good' ? 'passing' : 'failing'} for {elapsed(since)}, since <Moment time={since} />
          </p>
        )}
        <p>
          {runTimestamp === null ? (
            'The first run starts soon.'
          ) : (
            <>
              checked <When time={runTimestamp} /> in {duration(durationMs ?? 0)}{' '}
              {Date.now() - runTimestamp > OLD_MS && <Badge tone="warn">outdated</Badge>}
            </>
          )}
        </p>
      </div>
      {mayRun && (
        <BusyButton class="primary" onPress={props.onRun} disabled={props.running}>
          Run now
        </BusyButton>
      )}
      <Strip checks={report.checks} />
    </section>
  );
}

import type { JSX } from 'preact';
import { Badge, BusyButton, Moment, When } from '../../components/basics.tsx';
import { duration, elapsed, whole } from '../../lib/format.ts';
import { href, navigate } from '../../lib/router.ts';
import { useMay } from '../../lib/session.ts';
import type { CheckEntry, HealthReport } from '../../lib/types.ts';
import { countStates, headlineOf, STATE_LABELS, stateOfCheck } from './check-state.ts';

/** An older report is marked as outdated. */
const OLD_MS = 86_400_000;

type ClusterState = 'unknown' | 'good' | 'unread' | 'bad';

const MARKS: Readonly<Record<ClusterState, string>> = { unknown: '?', good: '✓', unread: '?', bad: '!' };

function stateOf(report: HealthReport): ClusterState {
  if (report.runTimestamp === null) return 'unknown';
  const { FAIL, UNREAD } = countStates(report.checks);
  if (FAIL > 0) return 'bad';
  return UNREAD > 0 ? 'unread' : 'good';
}

const SINCE: Readonly<Record<ClusterState, string>> = {
  unknown: '',
  good: 'passing',
  unread: 'not read',
  bad: 'failing',
};

/** Time of the state: since the first of the failing (or unread) checks has that state, or since the last failure has ended. */
function sinceOf(report: HealthReport, state: ClusterState): string | undefined {
  const wanted = { bad: 'FAIL', unread: 'UNREAD' }[state as string];
  const checks = wanted === undefined ? report.checks : report.checks.filter((check) => stateOfCheck(check) === wanted);
  const times = checks.map((check) => check.since).filter((time) => time !== undefined);
  return times.toSorted().at(state === 'good' ? -1 : 0);
}

/** A coloured cell for each check. Hidden from screen readers, because the list below has the same content. */
function Strip(props: { checks: readonly CheckEntry[] }): JSX.Element {
  return (
    <div class="strip" aria-hidden="true">
      {props.checks.map((check) => (
        <a
          key={check.name}
          tabIndex={-1}
          href={href(`/health?open=${check.name}`)}
          onClick={(event) => {
            event.preventDefault();
            navigate(`/health?open=${check.name}`);
          }}
          title={`${check.title}: ${STATE_LABELS[stateOfCheck(check)]}`}
          class={`cell-${stateOfCheck(check).toLowerCase()}`}
        />
      ))}
    </div>
  );
}

/** The last result that could read everything, while the latest one could not. */
function LastComplete(props: { report: HealthReport }): JSX.Element | null {
  const { lastComplete } = props.report;
  if (!lastComplete) return null;
  const { pass, fail, runTimestamp } = lastComplete;
  return (
    <p>
      last complete result <When time={runTimestamp} />: {fail === 0 ? 'all' : `${whole(fail)} of`} {whole(pass + fail)}{' '}
      checks {fail === 0 ? 'passed' : 'failed'}
    </p>
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
        <h1 aria-live="polite">{state === 'unknown' ? 'No health report yet' : headlineOf(report.checks)}</h1>
        {since !== undefined && (
          <p>
            {SINCE[state]} for {elapsed(since)}, since <Moment time={since} />
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
        <LastComplete report={report} />
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

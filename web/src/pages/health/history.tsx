import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Badge, Moment, When } from '../../components/basics.tsx';
import { ErrorNote } from '../../components/loaded.tsx';
import { call } from '../../lib/api.ts';
import { absolute, whole } from '../../lib/format.ts';
import { usePreferences } from '../../lib/preferences.ts';
import { setQuery } from '../../lib/router.ts';
import type { CheckEntry, HealthTransition } from '../../lib/types.ts';
import { useData } from '../../lib/use-data.ts';
import { timelineOf, type TimelinePart } from './timeline.ts';

const DAY_MS = 86_400_000;
const RANGES = [
  { label: '24 hours', ms: DAY_MS },
  { label: '7 days', ms: 7 * DAY_MS },
  { label: '30 days', ms: 30 * DAY_MS },
] as const;
const PARTS = 48;
/** Maximum listed changes. */
const MAX_LISTED = 20;

const STATES: Readonly<Record<HealthTransition['to'], { label: string; tone: 'good' | 'warn' | 'bad' }>> = {
  PASS: { label: 'PASS', tone: 'good' },
  FAIL: { label: 'FAIL', tone: 'bad' },
  NOT_EVALUATED: { label: 'NOT READ', tone: 'warn' },
};

function classOf({ failing, unread }: TimelinePart): string {
  if (failing === undefined) return 'cell-unknown';
  if (failing > 0) return 'cell-fail';
  return unread ? 'cell-unread' : 'cell-pass';
}

function textOf({ failing, unread }: TimelinePart): string {
  if (failing === undefined) return 'not known';
  return `${whole(failing)} failing${unread ? `, ${whole(unread)} not read` : ''}`;
}

function Timeline(props: { parts: readonly TimelinePart[] }): JSX.Element {
  const { utc } = usePreferences();
  const bad = props.parts.filter(({ failing }) => failing !== undefined && failing > 0).length;
  return (
    <span class="timeline" role="img" aria-label={`Checks failed in ${bad} of ${PARTS} parts of this time`}>
      {props.parts.map((part) => (
        <span
          key={part.from}
          class={classOf(part)}
          title={`${absolute(part.from, utc)} to ${absolute(part.to, utc)}: ${textOf(part)}`}
        />
      ))}
    </span>
  );
}

function Transition(props: { transition: HealthTransition; title: string | undefined }): JSX.Element {
  const { check, from, to, time, findingCount } = props.transition;
  return (
    <li>
      <button type="button" class="link" onClick={() => setQuery({ open: check })}>
        {props.title ?? check}
      </button>
      <span>
        <Badge tone={STATES[from].tone}>{STATES[from].label}</Badge> →{' '}
        <Badge tone={STATES[to].tone}>{STATES[to].label}</Badge>
      </span>
      {findingCount > 0 && <span class="muted">{whole(findingCount)} findings</span>}
      <span class="muted">
        <When time={time} />, <Moment time={time} />
      </span>
    </li>
  );
}

function LastTransitions(props: {
  transitions: readonly HealthTransition[];
  checks: readonly CheckEntry[];
}): JSX.Element {
  const { transitions, checks } = props;
  if (transitions.length === 0) return <p class="muted">No check has changed its state yet.</p>;
  const titles = new Map(checks.map(({ name, title }) => [name, title]));
  return (
    <ul class="rows">
      {transitions.slice(0, MAX_LISTED).map((one) => (
        <Transition key={`${one.check} ${one.time}`} transition={one} title={titles.get(one.check)} />
      ))}
    </ul>
  );
}

/** The state of the cluster over time, and the last changes. @param props.run identifies the shown report */
export function History(props: { checks: readonly CheckEntry[]; run: number | null }): JSX.Element | null {
  const { checks, run } = props;
  const [range, setRange] = useState<number>(RANGES[1].ms);
  const data = useData(`history ${run}`, (signal) => call<HealthTransition[]>('/clusterHealth/history', { signal }));
  if (data.error !== undefined) return <ErrorNote message={data.error} retry={data.reload} />;
  if (data.value === undefined || run === null) return null;
  const now = Date.now();
  return (
    <details class="history">
      <summary>
        History
        <Timeline parts={timelineOf(checks, data.value, { from: now - range, to: now, parts: PARTS })} />
      </summary>
      <div class="row">
        {RANGES.map(({ label, ms }) => (
          <button type="button" class="chip small" key={label} aria-pressed={range === ms} onClick={() => setRange(ms)}>
            {label}
          </button>
        ))}
      </div>
      <LastTransitions transitions={data.value} checks={checks} />
    </details>
  );
}

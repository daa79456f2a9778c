import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Badge, ErrorNote, Moment, When } from '../../components/basics.tsx';
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

/** The state of the cluster over time, and the last changes. @param props.run identifies the shown report */
export function History(props: { checks: readonly CheckEntry[]; run: number | null }): JSX.Element | null {
  const { utc } = usePreferences();
  const [range, setRange] = useState<number>(RANGES[1].ms);
  const data = useData(`history ${props.run}`, (signal) =>
    call<HealthTransition[]>('/clusterHealth/history', { signal }),
  );
  if (data.error !== undefined) return <ErrorNote message={data.error} retry={data.reload} />;
  if (data.value === undefined || props.run === null) return null;
  const now = Date.now();
  const parts = timelineOf(props.checks, data.value, { from: now - range, to: now, parts: PARTS });
  const bad = parts.filter(({ failing }) => failing !== undefined && failing > 0).length;
  return (
    <details class="history">
      <summary>
        History
        <span class="timeline" role="img" aria-label={`Checks failed in ${bad} of ${PARTS} parts of this time`}>
          {parts.map((part) => (
            <span
              key={part.from}
              class={classOf(part)}
              title={`${absolute(part.from, utc)} to ${absolute(part.to, utc)}: ${textOf(part)}`}
            />
          ))}
        </span>
      </summary>
      <div class="row">
        {RANGES.map(({ label, ms }) => (
          <button type="button" class="chip small" key={label} aria-pressed={range === ms} onClick={() => setRange(ms)}>
            {label}
          </button>
        ))}
      </div>
      {data.value.length === 0 && <p class="muted">No check has changed its state yet.</p>}
      <ul class="rows">
        {data.value.slice(0, MAX_LISTED).map(({ check, from, to, time, findingCount }) => (
          <li key={`${check} ${time}`}>
            <button type="button" class="link" onClick={() => setQuery({ open: check })}>
              {props.checks.find(({ name }) => name === check)?.title ?? check}
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
        ))}
      </ul>
    </details>
  );
}

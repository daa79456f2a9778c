import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Badge, Moment, Prose } from '../../components/basics.tsx';
import { CopyAs } from '../../components/copy-as.tsx';
import { elapsed, fromUpper, whole } from '../../lib/format.ts';
import type { CheckDefinition, CheckEntry } from '../../lib/types.ts';
import { STATE_LABELS, stateOfCheck, type CheckState } from './check-state.ts';
import { Findings } from './findings.tsx';
import type { MuteProposal } from './new-mute.tsx';

const TONES: Readonly<Record<CheckState, 'good' | 'bad' | 'warn' | 'plain'>> = {
  FAIL: 'bad',
  UNREAD: 'warn',
  MUTED: 'plain',
  PASS: 'good',
};

const SINCE: Readonly<Record<CheckState, string>> = {
  FAIL: 'failing',
  UNREAD: 'not read',
  MUTED: 'failing',
  PASS: 'passing',
};

/** The result of the last run that could read the data. */
function LastEvaluated(props: { check: CheckEntry }): JSX.Element | null {
  const { lastEvaluated } = props.check;
  if (!lastEvaluated) return null;
  const { status, time, findingCount } = lastEvaluated;
  return (
    <p class="muted">
      Last evaluated: {status}
      {findingCount > 0 && ` with ${whole(findingCount)} findings`}
      {time !== undefined && (
        <>
          {', '}
          <Moment time={time} />
        </>
      )}
    </p>
  );
}

/** When the check fails, and what to do. */
function Runbook(props: { check: CheckEntry; definition: CheckDefinition | undefined }): JSX.Element {
  const { check, definition } = props;
  const thresholds = Object.entries(definition?.defaultThresholds ?? {});
  return (
    <dl class="runbook">
      {definition && (
        <div>
          <dt>Fails when</dt>
          <dd>
            {definition.description}
            {thresholds.length > 0 && (
              <span class="muted"> Defaults: {thresholds.map(([name, value]) => `${name} ${value}`).join(', ')}.</span>
            )}
          </dd>
        </div>
      )}
      <div>
        <dt>What to do</dt>
        <dd>
          {check.remediation}{' '}
          <a href={`/docs/checks/${check.name}`} target="_blank" rel="noreferrer">
            Runbook
          </a>
        </dd>
      </div>
    </dl>
  );
}

/** A check of the report, expandable to its findings and runbook. */
export function CheckRow(props: {
  check: CheckEntry;
  definition: CheckDefinition | undefined;
  open: boolean;
  onToggle: () => void;
  /** Absent for users who may not mute findings. */
  onMute: ((proposal: MuteProposal) => void) | undefined;
}): JSX.Element {
  const { check, onMute } = props;
  const state = stateOfCheck(check);
  const id = `check-${check.name}`;
  const row = useRef<HTMLLIElement>(null);
  // Scroll to the check that the URL names.
  useEffect(() => {
    if (props.open) row.current?.scrollIntoView({ block: 'nearest' });
  }, [props.open]);
  return (
    <li ref={row} class={`check check-${state.toLowerCase()}`}>
      <button type="button" class="check-head" aria-expanded={props.open} aria-controls={id} onClick={props.onToggle}>
        <Badge tone={TONES[state]}>{STATE_LABELS[state]}</Badge>
        <span>
          <span class="check-title">{check.title || fromUpper(check.name)}</span>
          {state !== 'PASS' && <span class="muted"> · {check.severity}</span>}
        </span>
        <span class="check-message">{check.message}</span>
        {check.findingCount > 0 && <span class="count">{whole(check.findingCount)}</span>}
      </button>
      {props.open && (
        <div class="check-body" id={id}>
          <p class="muted">
            <code>{check.name}</code>
            {check.since !== undefined && (
              <>
                {' · '}
                {SINCE[state]} for {elapsed(check.since)}, since <Moment time={check.since} />
              </>
            )}
          </p>
          <p>
            <Prose text={check.message} />
          </p>
          {state === 'UNREAD' && <LastEvaluated check={check} />}
          <Findings check={check} onMute={onMute && ((entity) => onMute({ check: check.name, entity }))} />
          <Runbook check={check} definition={props.definition} />
          <div class="row">
            <CopyAs call={{ method: 'GET', path: `/clusterHealth?check=${encodeURIComponent(check.name)}` }} />
          </div>
        </div>
      )}
    </li>
  );
}

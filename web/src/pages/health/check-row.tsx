import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Badge, Moment, Prose } from '../../components/basics.tsx';
import { CopyAs } from '../../components/copy-as.tsx';
import { elapsed, fromUpper, whole } from '../../lib/format.ts';
import type { CheckDefinition, CheckEntry } from '../../lib/types.ts';
import { adviceOf, STATE_LABELS, stateOfCheck, type CheckState } from './check-state.ts';
import { visibleText } from '../../lib/visible.ts';
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
  // Their default values are in the description.
  const thresholds = Object.keys(definition?.defaultThresholds ?? {});
  return (
    <dl class="runbook">
      {definition && (
        <div>
          <dt>Fails when</dt>
          <dd>
            {definition.description}
            {thresholds.length > 0 && <span class="muted"> Set by {thresholds.join(', ')}.</span>}
          </dd>
        </div>
      )}
      <div>
        <dt>What to do</dt>
        <dd>
          {adviceOf(check)}{' '}
          <a href={`/docs/checks/${check.name}`} target="_blank" rel="noreferrer">
            Runbook
          </a>
        </dd>
      </div>
    </dl>
  );
}

interface CheckRowProps {
  check: CheckEntry;
  definition: CheckDefinition | undefined;
  open: boolean;
  onToggle: () => void;
  /** Absent for users who may not mute findings. */
  onMute: ((proposal: MuteProposal) => void) | undefined;
}

/** Name and message of the check, its findings and its runbook. */
function CheckBody(props: Pick<CheckRowProps, 'check' | 'definition' | 'onMute'> & { id: string }): JSX.Element {
  const { check, onMute } = props;
  const { name, since } = check;
  const state = stateOfCheck(check);
  return (
    <div class="check-body" id={props.id}>
      <p class="muted">
        <code>{name}</code>
        {since !== undefined && (
          <>
            {' · '}
            {SINCE[state]} for {elapsed(since)}, since <Moment time={since} />
          </>
        )}
      </p>
      <p>
        <Prose text={check.message} />
      </p>
      {state === 'UNREAD' && <LastEvaluated check={check} />}
      <Findings check={check} onMute={onMute} />
      <Runbook check={check} definition={props.definition} />
      <div class="row">
        <CopyAs call={{ method: 'GET', path: `/clusterHealth?check=${encodeURIComponent(name)}` }} />
        {onMute && state === 'FAIL' && (
          <button type="button" class="small" onClick={() => onMute({ check: name, entity: '*' })}>
            Mute this check
          </button>
        )}
      </div>
    </div>
  );
}

/** A check of the report, expandable to its findings and runbook. */
export function CheckRow(props: CheckRowProps): JSX.Element {
  const { check, open } = props;
  const state = stateOfCheck(check);
  const id = `check-${check.name}`;
  const row = useRef<HTMLLIElement>(null);
  // Scroll to the check that the URL names.
  useEffect(() => {
    if (open) row.current?.scrollIntoView({ block: 'nearest' });
  }, [open]);
  return (
    <li ref={row} class={`check check-${state.toLowerCase()}`}>
      <button type="button" class="check-head" aria-expanded={open} aria-controls={id} onClick={props.onToggle}>
        <Badge tone={TONES[state]}>{STATE_LABELS[state]}</Badge>
        <span>
          <span class="check-title">{check.title || fromUpper(check.name)}</span>
          {state !== 'PASS' && <span class="muted"> · {check.severity}</span>}
        </span>
        <span class="check-message">{visibleText(check.message)}</span>
        {check.findingCount > 0 && <span class="count">{whole(check.findingCount)}</span>}
      </button>
      {open && <CheckBody id={id} check={check} definition={props.definition} onMute={props.onMute} />}
    </li>
  );
}

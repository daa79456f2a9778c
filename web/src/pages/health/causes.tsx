import type { JSX } from 'preact';
import { Badge, Link, Moment } from '../../components/basics.tsx';
import { elapsed, fromUpper, whole } from '../../lib/format.ts';
import { setQuery } from '../../lib/router.ts';
import type { Cause } from '../../lib/types.ts';
import { visible } from '../../lib/visible.ts';
import { filterFor } from './filter-checks.ts';
import { Message } from './findings.tsx';
import type { MuteProposal } from './new-mute.tsx';

/** A check that fails by a cause, as a link to its findings. */
const CheckLink = (props: { name: string }): JSX.Element => (
  <Link to={`/health?open=${props.name}`}>{fromUpper(props.name)}</Link>
);

interface CauseProps {
  cause: Cause;
  /** Absent for users who may not mute findings. */
  onMute: ((proposal: MuteProposal) => void) | undefined;
}

function MuteCause(props: CauseProps): JSX.Element | null {
  const { onMute, cause } = props;
  const { entityType, entity } = cause;
  if (!onMute) return null;
  return (
    <button type="button" class="small" onClick={() => onMute({ check: '', entity })}>
      Mute this {entityType} <span class="sr-only">{visible(entity)}</span>
    </button>
  );
}

function CauseRow(props: CauseProps): JSX.Element {
  const { cause } = props;
  const { severity, message, checks, since, findingCount, mutedCount = 0 } = cause;
  const filter = filterFor(cause);
  return (
    <li class="cause">
      <p>
        <Badge tone={severity === 'critical' ? 'bad' : 'warn'}>{severity}</Badge> <Message text={message} />
      </p>
      <p class="muted">
        for {elapsed(since)}, since <Moment time={since} /> ·{' '}
        {filter ? (
          <button type="button" class="link" onClick={() => setQuery({ ...filter })}>
            {whole(findingCount)} findings of {visible(cause.entity)}
          </button>
        ) : (
          `${whole(findingCount)} findings`
        )}
        {mutedCount > 0 && `, ${whole(mutedCount)} of them muted`} · in{' '}
        {checks.map((name, index) => (
          <span key={name}>
            {index > 0 && ', '}
            <CheckLink name={name} />
          </span>
        ))}{' '}
        ·{' '}
        <a href="/docs/checks/CAUSES" target="_blank" rel="noreferrer">
          Runbook
        </a>{' '}
        <MuteCause {...props} />
      </p>
    </li>
  );
}

/** What is behind the findings: one row for a server, however many checks and tables it affects. */
export function Causes(props: { causes: readonly Cause[]; onMute: CauseProps['onMute'] }): JSX.Element | null {
  if (props.causes.length === 0) return null;
  return (
    <section aria-labelledby="section-causes">
      <h2 id="section-causes">Causes</h2>
      <ul class="causes">
        {props.causes.map((cause) => (
          <CauseRow key={cause.id} cause={cause} onMute={props.onMute} />
        ))}
      </ul>
    </section>
  );
}

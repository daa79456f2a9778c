import type { JSX } from 'preact';
import { Badge, Moment } from '../../components/basics.tsx';
import { elapsed, fromUpper, whole } from '../../lib/format.ts';
import { href, navigate, setQuery } from '../../lib/router.ts';
import type { Cause } from '../../lib/types.ts';
import { visible } from '../../lib/visible.ts';
import { filterFor } from './filter-checks.ts';
import { Message } from './findings.tsx';

/** A check that fails by a cause, as a link to its findings. */
function CheckLink(props: { name: string }): JSX.Element {
  const path = `/health?open=${props.name}`;
  return (
    <a
      href={href(path)}
      onClick={(event) => {
        event.preventDefault();
        navigate(path);
      }}
    >
      {fromUpper(props.name)}
    </a>
  );
}

function CauseRow(props: { cause: Cause }): JSX.Element {
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
          <button type="button" class="link" onClick={() => setQuery(filter)}>
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
        </a>
      </p>
    </li>
  );
}

/** What is behind the findings: one row for a server, however many checks and tables it affects. */
export function Causes(props: { causes: readonly Cause[] }): JSX.Element | null {
  if (props.causes.length === 0) return null;
  return (
    <section aria-labelledby="section-causes">
      <h2 id="section-causes">Causes</h2>
      <ul class="causes">
        {props.causes.map((cause) => (
          <CauseRow key={cause.id} cause={cause} />
        ))}
      </ul>
    </section>
  );
}

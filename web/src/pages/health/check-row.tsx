import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Badge, Moment, Prose } from '../../components/basics.tsx';
import { VirtualList } from '../../components/virtual-list.tsx';
import { elapsed, fromUpper, whole } from '../../lib/format.ts';
import { useNarrow } from '../../lib/use-narrow.ts';
import type { CheckDefinition, CheckEntry } from '../../lib/types.ts';

/** Height of a finding in pixels: columns side by side, or below each other on a narrow page. */
const ROW_HEIGHT = 64;
const NARROW_ROW_HEIGHT = 132;
const MAX_HEIGHT = 6 * ROW_HEIGHT;

function Findings(props: { check: CheckEntry }): JSX.Element | null {
  const { findings, findingCount } = props.check;
  const rowHeight = useNarrow() ? NARROW_ROW_HEIGHT : ROW_HEIGHT;
  if (findings.length === 0) return null;
  return (
    <>
      <VirtualList
        count={findings.length}
        rowHeight={rowHeight}
        maxHeight={MAX_HEIGHT}
        label={`Findings of ${props.check.title}`}
        render={(index) => {
          const finding = findings[index];
          if (!finding) return null;
          return (
            <div class="finding" role="listitem" key={index} style={{ height: `${rowHeight}px` }}>
              <span class="entity" title={finding.entity}>
                <span class="muted">{finding.entityType}</span> <code>{finding.entity}</code>
              </span>
              <span class="what" title={finding.message}>
                <Prose text={finding.message} />
              </span>
              {finding.observed !== undefined && (
                <span class="measure" title={`${finding.observed} / ${finding.threshold ?? ''}`}>
                  <span>{finding.observed}</span>
                  {finding.threshold !== undefined && <span class="muted">allowed: {finding.threshold}</span>}
                </span>
              )}
            </div>
          );
        }}
      />
      {findingCount > findings.length && (
        <p class="muted">
          Showing {whole(findings.length)} of {whole(findingCount)} findings.
        </p>
      )}
    </>
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
}): JSX.Element {
  const { check } = props;
  const failing = check.status === 'FAIL';
  const id = `check-${check.name}`;
  const row = useRef<HTMLLIElement>(null);
  // Scroll to the check that the URL names.
  useEffect(() => {
    if (props.open) row.current?.scrollIntoView({ block: 'nearest' });
  }, [props.open]);
  return (
    <li ref={row} class={`check ${failing ? 'check-fail' : 'check-pass'}`}>
      <button type="button" class="check-head" aria-expanded={props.open} aria-controls={id} onClick={props.onToggle}>
        <Badge tone={failing ? (check.couldNotEvaluate ? 'warn' : 'bad') : 'good'}>
          {check.couldNotEvaluate ? 'NOT READ' : check.status}
        </Badge>
        <span>
          <span class="check-title">{check.title || fromUpper(check.name)}</span>
          {failing && <span class="muted"> · {check.severity}</span>}
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
                {failing ? 'failing' : 'passing'} for {elapsed(check.since)}, since <Moment time={check.since} />
              </>
            )}
          </p>
          <p>
            <Prose text={check.message} />
          </p>
          <Findings check={check} />
          <Runbook check={check} definition={props.definition} />
        </div>
      )}
    </li>
  );
}

import type { JSX } from 'preact';
import { Badge, When } from '../../components/basics.tsx';
import { VirtualList } from '../../components/virtual-list.tsx';
import { fromUpper, whole } from '../../lib/format.ts';
import type { CheckDefinition, CheckEntry } from '../../lib/types.ts';

/** Pixels of a finding, as in the styles. */
const ROW_HEIGHT = 64;

function Findings(props: { check: CheckEntry }): JSX.Element | null {
  const { findings, findingCount } = props.check;
  if (findings.length === 0) return null;
  return (
    <>
      <VirtualList
        count={findings.length}
        rowHeight={ROW_HEIGHT}
        maxHeight={6 * ROW_HEIGHT}
        label={`Findings of ${props.check.title}`}
        render={(index) => {
          const finding = findings[index];
          if (!finding) return null;
          return (
            <div class="finding" role="listitem" key={index}>
              <span class="entity" title={finding.entity}>
                <span class="muted">{finding.entityType}</span> <code>{finding.entity}</code>
              </span>
              <span class="what" title={finding.message}>
                {finding.message}
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
          {whole(findings.length)} of {whole(findingCount)} findings are shown.
        </p>
      )}
    </>
  );
}

/** What the check is, and what to do where it fails. */
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

/** A check of the report; open, its findings and what to do. */
export function CheckRow(props: {
  check: CheckEntry;
  definition: CheckDefinition | undefined;
  open: boolean;
  onToggle: () => void;
}): JSX.Element {
  const { check } = props;
  const failing = check.status === 'FAIL';
  const id = `check-${check.name}`;
  return (
    <li class={`check ${failing ? 'check-fail' : 'check-pass'}`}>
      <button type="button" class="check-head" aria-expanded={props.open} aria-controls={id} onClick={props.onToggle}>
        <Badge tone={failing ? (check.couldNotEvaluate ? 'warn' : 'bad') : 'good'}>
          {check.couldNotEvaluate ? 'NOT READ' : check.status}
        </Badge>
        <span class="check-title">{check.title || fromUpper(check.name)}</span>
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
                {failing ? 'failing' : 'passing'} since <When time={check.since} />
              </>
            )}
          </p>
          <p>{check.message}</p>
          <Findings check={check} />
          <Runbook check={check} definition={props.definition} />
        </div>
      )}
    </li>
  );
}

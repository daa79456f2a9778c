import type { JSX } from 'preact';
import { Badge, Prose } from '../../components/basics.tsx';
import { VirtualList } from '../../components/virtual-list.tsx';
import { whole } from '../../lib/format.ts';
import { InstanceLink, TableLink } from '../../components/name-links.tsx';
import { entityOf, partsOf, type Entity as NamedEntity } from '../../lib/entities.ts';
import { setQuery } from '../../lib/router.ts';
import type { CheckEntry, Finding } from '../../lib/types.ts';
import { useNarrow } from '../../lib/use-narrow.ts';
import { visible, visibleText } from '../../lib/visible.ts';
import type { MuteProposal } from './new-mute.tsx';
import { filterFor } from './filter-checks.ts';

/** Height of a finding in pixels: columns side by side, or below each other on a narrow page. */
const ROW_HEIGHT = 64;
const NARROW_ROW_HEIGHT = 164;
const MAX_HEIGHT = 6 * ROW_HEIGHT;

/** Maximum findings that are shown in full. */
const MAX_PLAIN = 60;

/** What a finding is about: a link to the page of a table or an instance, and for others to all findings that name it. */
function Entity(props: { finding: Finding }): JSX.Element {
  const { entityType, entity } = props.finding;
  const known = entityOf(props.finding);
  const filter = filterFor(props.finding);
  return (
    <span class="entity" title={visible(entity)}>
      <span class="muted">{entityType}</span>{' '}
      <code>
        {known ? (
          <EntityLink entity={known} />
        ) : filter ? (
          <button
            type="button"
            class="link"
            title={`All findings of ${visible(entity)}`}
            onClick={() => setQuery({ ...filter })}
          >
            {visible(entity)}
          </button>
        ) : (
          visible(entity)
        )}
      </code>
    </span>
  );
}

const EntityLink = (props: { entity: NamedEntity }): JSX.Element =>
  props.entity.kind === 'table' ? (
    <TableLink table={props.entity.name} />
  ) : (
    <InstanceLink instance={props.entity.name} />
  );

/** A message with code in backticks, in which the names of tables and instances are links. */
export function Message(props: { text: string }): JSX.Element {
  return (
    <>
      {partsOf(props.text).map((part, index) =>
        typeof part === 'string' ? <Prose key={index} text={part} /> : <EntityLink key={index} entity={part} />,
      )}
    </>
  );
}

/** What was measured and what is allowed, each only if the message does not say it. */
function Measure(props: { finding: Finding }): JSX.Element {
  const { observed, threshold, message } = props.finding;
  const isNew = (text: string | undefined): text is string => text !== undefined && !message.includes(text);
  return (
    <span class="measure" title={observed === undefined ? undefined : `${observed} / ${threshold ?? ''}`}>
      {isNew(observed) && <span>{observed}</span>}
      {isNew(threshold) && <span class="muted">allowed: {threshold}</span>}
    </span>
  );
}

function FindingRow(props: {
  finding: Finding;
  check: CheckEntry;
  onMute: ((proposal: MuteProposal) => void) | undefined;
}): JSX.Element {
  const { finding, check, onMute } = props;
  return (
    <>
      <Entity finding={finding} />
      <span class="what" title={visibleText(finding.message)}>
        {finding.couldNotRead === true && <Badge tone="warn">NOT READ</Badge>}{' '}
        {finding.mutedBy !== undefined && <Badge tone="plain">MUTED</Badge>}{' '}
        {finding.severity !== undefined && finding.severity !== check.severity && (
          <Badge tone="plain">{finding.severity}</Badge>
        )}{' '}
        <Message text={finding.message} />
      </span>
      <Measure finding={finding} />
      {onMute && finding.mutedBy === undefined && finding.couldNotRead !== true && (
        <button
          type="button"
          class="small"
          aria-label={`Mute ${visible(finding.entity)} in ${check.title}`}
          onClick={() => onMute({ check: check.name, entity: finding.entity })}
        >
          Mute
        </button>
      )}
    </>
  );
}

interface FindingListProps {
  check: CheckEntry;
  /** Absent for users who may not mute findings. */
  onMute: ((proposal: MuteProposal) => void) | undefined;
}

/** Findings in full, however long their messages are. */
function PlainFindings(props: FindingListProps): JSX.Element {
  const { check, onMute } = props;
  return (
    <div class="virtual findings-plain" role="region" tabIndex={0} aria-label={`Findings of ${check.title}`}>
      <div role="list">
        {check.findings.map((finding, index) => (
          <div class="finding" role="listitem" key={index}>
            <FindingRow finding={finding} check={check} onMute={onMute} />
          </div>
        ))}
      </div>
    </div>
  );
}

/** Many findings: each has the same height, and its tooltip has the rest of a long message. */
function ManyFindings(props: FindingListProps): JSX.Element {
  const { check, onMute } = props;
  const { findings } = check;
  const rowHeight = useNarrow() ? NARROW_ROW_HEIGHT : ROW_HEIGHT;
  return (
    <VirtualList
      count={findings.length}
      rowHeight={rowHeight}
      maxHeight={MAX_HEIGHT}
      label={`Findings of ${check.title}`}
      render={(index) => {
        const finding = findings[index];
        if (!finding) return null;
        return (
          <div class="finding" role="listitem" key={index} style={{ height: `${rowHeight}px` }}>
            <FindingRow finding={finding} check={check} onMute={onMute} />
          </div>
        );
      }}
    />
  );
}

export function Findings(props: FindingListProps): JSX.Element | null {
  const { findings, findingCount } = props.check;
  if (findings.length === 0) return null;
  return (
    <>
      {findings.length <= MAX_PLAIN ? <PlainFindings {...props} /> : <ManyFindings {...props} />}
      {findingCount > findings.length && (
        <p class="muted">
          Showing {whole(findings.length)} of {whole(findingCount)} findings.
        </p>
      )}
    </>
  );
}

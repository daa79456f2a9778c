import type { JSX } from 'preact';
import { Badge, Prose } from '../../components/basics.tsx';
import { VirtualList } from '../../components/virtual-list.tsx';
import { whole } from '../../lib/format.ts';
import { setQuery } from '../../lib/router.ts';
import type { CheckEntry, Finding } from '../../lib/types.ts';
import { useNarrow } from '../../lib/use-narrow.ts';
import { filterFor } from './filter-checks.ts';

/** Height of a finding in pixels: columns side by side, or below each other on a narrow page. */
const ROW_HEIGHT = 64;
const NARROW_ROW_HEIGHT = 164;
const MAX_HEIGHT = 6 * ROW_HEIGHT;

/** The entity, as a link to all findings of its table or instance. */
function Entity(props: { finding: Finding }): JSX.Element {
  const { entityType, entity } = props.finding;
  const filter = filterFor(props.finding);
  return (
    <span class="entity" title={entity}>
      <span class="muted">{entityType}</span>{' '}
      {filter ? (
        <button type="button" class="link" title={`All findings of ${entity}`} onClick={() => setQuery(filter)}>
          <code>{entity}</code>
        </button>
      ) : (
        <code>{entity}</code>
      )}
    </span>
  );
}

function Row(props: {
  finding: Finding;
  check: CheckEntry;
  onMute: ((entity: string) => void) | undefined;
}): JSX.Element {
  const { finding, check, onMute } = props;
  const { observed, threshold } = finding;
  return (
    <>
      <Entity finding={finding} />
      <span class="what" title={finding.message}>
        {finding.couldNotRead === true && <Badge tone="warn">NOT READ</Badge>}{' '}
        {finding.mutedBy !== undefined && <Badge tone="plain">MUTED</Badge>}{' '}
        {finding.severity !== undefined && finding.severity !== check.severity && (
          <Badge tone="plain">{finding.severity}</Badge>
        )}{' '}
        <Prose text={finding.message} />
      </span>
      <span class="measure" title={observed === undefined ? undefined : `${observed} / ${threshold ?? ''}`}>
        {observed !== undefined && <span>{observed}</span>}
        {threshold !== undefined && <span class="muted">allowed: {threshold}</span>}
      </span>
      {onMute && finding.mutedBy === undefined && finding.couldNotRead !== true && (
        <button
          type="button"
          class="small"
          aria-label={`Mute ${finding.entity}`}
          onClick={() => onMute(finding.entity)}
        >
          Mute
        </button>
      )}
    </>
  );
}

/** @param props.onMute absent for users who may not mute findings */
export function Findings(props: {
  check: CheckEntry;
  onMute: ((entity: string) => void) | undefined;
}): JSX.Element | null {
  const { check, onMute } = props;
  const { findings, findingCount } = check;
  const rowHeight = useNarrow() ? NARROW_ROW_HEIGHT : ROW_HEIGHT;
  if (findings.length === 0) return null;
  return (
    <>
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
              <Row finding={finding} check={check} onMute={onMute} />
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

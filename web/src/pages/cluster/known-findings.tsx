import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Badge, Link } from '../../components/basics.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { call } from '../../lib/api.ts';
import type { Entity } from '../../lib/entities.ts';
import { useMay } from '../../lib/session.ts';
import type { CheckEntry, HealthReport } from '../../lib/types.ts';
import { useData } from '../../lib/use-data.ts';
import { checksAbout, filterOf } from '../health/filter-checks.ts';
import { Findings } from '../health/findings.tsx';
import { NewMute, type MuteProposal } from '../health/new-mute.tsx';

function CheckFindings(props: {
  check: CheckEntry;
  onMute: ((proposal: MuteProposal) => void) | undefined;
}): JSX.Element {
  const { check, onMute } = props;
  return (
    <>
      <h4>
        <Link to={`/health?open=${check.name}`}>{check.title || check.name}</Link>{' '}
        <Badge tone={check.severity === 'critical' ? 'bad' : 'warn'}>{check.severity}</Badge>
      </h4>
      <Findings check={check} onMute={onMute} />
    </>
  );
}

/** The findings of the latest report that are about an entity or name it; nothing for callers who may not read health. */
export function KnownFindings(props: { entity: Entity }): JSX.Element | null {
  return useMay('GetHealth') ? <Known {...props} /> : null;
}

function Known(props: { entity: Entity }): JSX.Element {
  const { entity } = props;
  const mayMute = useMay('UpdateHealth');
  const report = useData('health', (signal) => call<HealthReport>('/clusterHealth', { signal }));
  const [proposal, setProposal] = useState<MuteProposal>();
  const filters = filterOf(entity);
  const onMute = mayMute ? setProposal : undefined;
  return (
    <section aria-labelledby="known-findings">
      <h3 id="known-findings">Findings</h3>
      <Loaded data={report} what="the health report">
        {({ checks }) => {
          const found = checksAbout(checks, entity);
          if (found.length === 0) return <p class="muted">No check has a finding about it.</p>;
          return found.map((check) => <CheckFindings key={check.name} check={check} onMute={onMute} />);
        }}
      </Loaded>
      <div class="row">
        <Link to={`/health?${new URLSearchParams({ [entity.kind]: filters[entity.kind] }).toString()}`}>
          On the health page
        </Link>
        {onMute && entity.kind === 'instance' && (
          <button type="button" class="small" onClick={() => onMute({ check: '', entity: entity.name })}>
            Mute this instance
          </button>
        )}
      </div>
      {proposal && (
        <NewMute
          proposal={proposal}
          onDone={(mute) => {
            setProposal(undefined);
            if (mute) report.reload();
          }}
        />
      )}
    </section>
  );
}

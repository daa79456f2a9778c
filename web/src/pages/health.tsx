import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { CopyAs } from '../components/copy-as.tsx';
import { Loading } from '../components/basics.tsx';
import { ErrorNote } from '../components/loaded.tsx';
import { call } from '../lib/api.ts';
import { setQuery, useLocation } from '../lib/router.ts';
import { useMay } from '../lib/session.ts';
import type { CheckDefinition, CheckEntry, HealthMute, HealthReport } from '../lib/types.ts';
import { useData } from '../lib/use-data.ts';
import { Causes } from './health/causes.tsx';
import { CheckRow } from './health/check-row.tsx';
import { sectionsOf, type Section } from './health/check-state.ts';
import { FilterBar } from './health/filter-bar.tsx';
import { filterChecks, type Filters } from './health/filter-checks.ts';
import { Glance } from './health/glance.tsx';
import { History } from './health/history.tsx';
import { Mutes, useMutes } from './health/mutes.tsx';
import { NewMute, type MuteProposal } from './health/new-mute.tsx';
import { RunPanel } from './health/run-panel.tsx';
import { checksOfRun } from './health/run-progress.ts';
import { useReport, type ReportState } from './health/use-report.ts';

/** A change of the mutes is in the report a moment later. Milliseconds after the change. */
const MUTED_REPORT_MS = [0, 300, 1500, 5000];

function useFilters(): Filters {
  const { query } = useLocation();
  const of = (name: string): string => query.get(name) ?? '';
  return { status: of('status'), table: of('table'), instance: of('instance'), text: of('text') };
}

function Checks(props: {
  section: Section;
  definitions: readonly CheckDefinition[] | undefined;
  onMute: ((proposal: MuteProposal) => void) | undefined;
}): JSX.Element {
  const { section, definitions, onMute } = props;
  const open = useLocation().query.get('open');
  return (
    <section aria-labelledby={`section-${section.id}`}>
      <h2 class="family" id={`section-${section.id}`}>
        {section.title}
      </h2>
      <ul class="checks">
        {section.checks.map((check) => (
          <CheckRow
            key={check.name}
            check={check}
            definition={definitions?.find(({ name }) => name === check.name)}
            open={open === check.name}
            onToggle={() => setQuery({ open: open === check.name ? undefined : check.name })}
            onMute={onMute}
          />
        ))}
      </ul>
    </section>
  );
}

/** The checks that the filters select, in sections. */
function FilteredChecks(props: {
  checks: readonly CheckEntry[];
  definitions: readonly CheckDefinition[] | undefined;
  onMute: ((proposal: MuteProposal) => void) | undefined;
}): JSX.Element {
  const { checks, definitions, onMute } = props;
  const filters = useFilters();
  const shown = useMemo(() => filterChecks(checks, filters), [checks, ...Object.values(filters)]);
  return (
    <>
      <FilterBar filters={filters} checks={checks} />
      {shown.length === 0 && checks.length > 0 && <p class="muted">No checks match these filters.</p>}
      {sectionsOf(shown).map((section) => (
        <Checks key={section.id} section={section} definitions={definitions} onMute={onMute} />
      ))}
    </>
  );
}

function Report(props: { state: ReportState; report: HealthReport }): JSX.Element {
  const { runTimestamp, checks, causes } = props.report;
  const { running, error, run, data } = props.state;
  const definitions = useData('checks', (signal) => call<CheckDefinition[]>('/clusterHealth/list', { signal }));
  // After an error they are not polled, because a denied request is an audit record.
  const mutes = useMutes(error === undefined);
  const mayMute = useMay('UpdateHealth');
  const [proposal, setProposal] = useState<MuteProposal>();
  const onMute = mayMute ? setProposal : undefined;
  const mutesChanged = (): void => {
    for (const delay of MUTED_REPORT_MS) {
      setTimeout(() => {
        mutes.reload();
        data.reload();
      }, delay);
    }
  };
  const muted = (mute: HealthMute | undefined): void => {
    setProposal(undefined);
    if (mute) mutesChanged();
  };
  return (
    <>
      <Glance report={props.report} running={running !== undefined} onRun={run} />
      <ErrorNote message={error} retry={data.reload} />
      {running && <RunPanel running={running} checks={checksOfRun(running, checks, definitions.value ?? [])} />}
      <Causes causes={causes} onMute={onMute} />
      <History checks={checks} run={runTimestamp} />
      <Mutes mutes={mutes} onChanged={mutesChanged} />
      <FilteredChecks checks={checks} definitions={definitions.value} onMute={onMute} />
      <div class="row">
        <CopyAs call={{ method: 'GET', path: '/clusterHealth' }} />
      </div>
      {proposal && <NewMute proposal={proposal} onDone={muted} />}
    </>
  );
}

export function HealthPage(): JSX.Element {
  const state = useReport();
  const { value, error, reload } = state.data;
  if (value) return <Report state={state} report={value} />;
  return error === undefined ? <Loading what="the health report" /> : <ErrorNote message={error} retry={reload} />;
}

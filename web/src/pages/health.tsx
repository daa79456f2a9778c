import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { ErrorNote, Loading } from '../components/basics.tsx';
import { call, messageOfError } from '../lib/api.ts';
import { setQuery, useLocation } from '../lib/router.ts';
import { useMay } from '../lib/session.ts';
import type { CheckDefinition, HealthReport } from '../lib/types.ts';
import { useData } from '../lib/use-data.ts';
import { CheckRow } from './health/check-row.tsx';
import { sectionsOf } from './health/check-state.ts';
import { FilterBar } from './health/filter-bar.tsx';
import { filterChecks, type Filters } from './health/filter-checks.ts';
import { Glance } from './health/glance.tsx';
import { History } from './health/history.tsx';
import { Mutes, useMutes } from './health/mutes.tsx';
import { NewMute, type MuteProposal } from './health/new-mute.tsx';
import { RunPanel } from './health/run-panel.tsx';
import { checksOfRun } from './health/run-progress.ts';

/**
 * A small response for polling: the filter matches no table, so that only the time of the latest run and the state of the current run remain.
 */
const POLL = '/clusterHealth?table=%2F';
const IDLE_POLL_MS = 2000;
const RUNNING_POLL_MS = 500;

/** A change of the mutes is in the report a moment later. Milliseconds after the change. */
const MUTED_REPORT_MS = [300, 1500, 5000];

export function HealthPage(): JSX.Element {
  const { query } = useLocation();
  const data = useData('health', (signal) => call<HealthReport>('/clusterHealth', { signal }));
  const [fast, setFast] = useState(false);
  const poll = useData('poll', (signal) => call<HealthReport>(POLL, { signal }), fast ? RUNNING_POLL_MS : IDLE_POLL_MS);
  const definitions = useData('checks', (signal) => call<CheckDefinition[]>('/clusterHealth/list', { signal }));
  const [error, setError] = useState<string>();
  // Runs started by others are shown, too.
  const running = poll.value?.running ?? undefined;
  useEffect(() => setFast(running !== undefined), [running !== undefined]);
  const newest = poll.value?.runTimestamp;
  const shownRun = data.value?.runTimestamp;
  useEffect(() => {
    if (newest !== undefined && shownRun !== undefined && newest !== shownRun) data.reload();
  }, [newest, shownRun]);

  const filters: Filters = {
    status: query.get('status') ?? '',
    table: query.get('table') ?? '',
    instance: query.get('instance') ?? '',
    text: query.get('text') ?? '',
  };
  const checks = data.value?.checks ?? [];
  const shown = useMemo(
    () => filterChecks(checks, filters),
    [checks, filters.status, filters.table, filters.instance, filters.text],
  );
  const open = query.get('open');
  const mutes = useMutes();
  const mayMute = useMay('UpdateHealth');
  const [proposal, setProposal] = useState<MuteProposal>();
  const mutesChanged = (): void => {
    for (const delay of [0, ...MUTED_REPORT_MS]) {
      setTimeout(() => {
        mutes.reload();
        data.reload();
      }, delay);
    }
  };

  const run = async (): Promise<void> => {
    setError(undefined);
    setFast(true);
    try {
      await call('/periodictask/run?taskName=ClusterHealthCheckTask&wait=true', { timeoutMs: 600_000 });
    } catch (failure) {
      setError(messageOfError(failure));
    } finally {
      poll.reload();
      data.reload();
    }
  };

  if (!data.value)
    return data.error === undefined ? (
      <Loading what="the health report" />
    ) : (
      <ErrorNote message={data.error} retry={data.reload} />
    );
  return (
    <>
      <Glance report={data.value} running={running !== undefined} onRun={run} />
      <ErrorNote message={error ?? data.error ?? poll.error} retry={data.reload} />
      {running && <RunPanel running={running} checks={checksOfRun(running, checks, definitions.value ?? [])} />}
      <History checks={checks} run={data.value.runTimestamp} />
      <Mutes mutes={mutes} onChanged={mutesChanged} />
      <FilterBar filters={filters} checks={checks} />
      {shown.length === 0 && checks.length > 0 && <p class="muted">No checks match these filters.</p>}
      {sectionsOf(shown).map((section) => (
        <section key={section.id} aria-labelledby={`section-${section.id}`}>
          <h2 class="family" id={`section-${section.id}`}>
            {section.title}
          </h2>
          <ul class="checks">
            {section.checks.map((check) => (
              <CheckRow
                key={check.name}
                check={check}
                definition={definitions.value?.find(({ name }) => name === check.name)}
                open={open === check.name}
                onToggle={() => setQuery({ open: open === check.name ? undefined : check.name })}
                onMute={mayMute ? setProposal : undefined}
              />
            ))}
          </ul>
        </section>
      ))}
      {proposal && (
        <NewMute
          proposal={proposal}
          onDone={(mute) => {
            setProposal(undefined);
            if (mute) mutesChanged();
          }}
        />
      )}
    </>
  );
}

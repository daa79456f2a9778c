import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { ErrorNote, Loading } from '../components/basics.tsx';
import { call, messageOfError } from '../lib/api.ts';
import { setQuery, useLocation } from '../lib/router.ts';
import type { CheckDefinition, HealthReport } from '../lib/types.ts';
import { useData } from '../lib/use-data.ts';
import { CheckRow } from './health/check-row.tsx';
import { filterChecks, type Filters } from './health/filter-checks.ts';
import { Glance } from './health/glance.tsx';
import { RunPanel } from './health/run-panel.tsx';
import { checksOfRun } from './health/run-progress.ts';

/**
 * A small response for polling: the filter matches no table, so that only the time of the latest run and the state of the current run remain.
 */
const POLL = '/clusterHealth?table=%2F';
const IDLE_POLL_MS = 2000;
const RUNNING_POLL_MS = 500;

function FilterBar(props: { filters: Filters; counts: { all: number; fail: number; pass: number } }): JSX.Element {
  const { filters, counts } = props;
  const input = (key: keyof Filters, label: string): JSX.Element => (
    <label class="inline">
      <span>{label}</span>
      <input
        type="search"
        value={filters[key]}
        onInput={(event) => setQuery({ [key]: event.currentTarget.value }, true)}
      />
    </label>
  );
  const choice = (value: string, label: string, count: number): JSX.Element => (
    <button
      type="button"
      class="chip"
      aria-pressed={filters.status === value}
      onClick={() => setQuery({ status: value })}
    >
      {label} {count}
    </button>
  );
  return (
    <div class="filters" role="search" aria-label="Filter the checks">
      <div class="chips">
        {choice('', 'All', counts.all)}
        {choice('FAIL', 'Failing', counts.fail)}
        {choice('PASS', 'Passing', counts.pass)}
      </div>
      {input('table', 'Table')}
      {input('instance', 'Instance')}
      {input('text', 'Text')}
    </div>
  );
}

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
  const families = [...new Set(shown.map((check) => check.category))];

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
      <FilterBar
        filters={filters}
        counts={{
          all: checks.length,
          fail: checks.filter((check) => check.status === 'FAIL').length,
          pass: checks.filter((check) => check.status === 'PASS').length,
        }}
      />
      {shown.length === 0 && checks.length > 0 && <p class="muted">No checks match these filters.</p>}
      {families.map((family) => (
        <section key={family} aria-labelledby={`family-${family}`}>
          <h2 class="family" id={`family-${family}`}>
            {family}
          </h2>
          <ul class="checks">
            {shown
              .filter((check) => check.category === family)
              .map((check) => (
                <CheckRow
                  key={check.name}
                  check={check}
                  definition={definitions.value?.find(({ name }) => name === check.name)}
                  open={open === check.name}
                  onToggle={() => setQuery({ open: open === check.name ? undefined : check.name })}
                />
              ))}
          </ul>
        </section>
      ))}
    </>
  );
}

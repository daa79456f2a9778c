import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { Badge, BusyButton, ErrorNote, Loading, When } from '../components/basics.tsx';
import { VirtualList } from '../components/virtual-list.tsx';
import { call, messageOfError } from '../lib/api.ts';
import { duration, fromUpper, whole } from '../lib/format.ts';
import { setQuery, useLocation } from '../lib/router.ts';
import type { CheckDefinition, CheckEntry, HealthReport } from '../lib/types.ts';
import { useData } from '../lib/use-data.ts';
import { filterChecks, type Filters } from './health/filter-checks.ts';

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

function CheckRow(props: {
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

function Glance(props: { report: HealthReport; onRun: () => Promise<void> }): JSX.Element {
  const { report } = props;
  const failing = report.checks.filter((check) => check.status === 'FAIL');
  const well = report.runTimestamp !== null && failing.length === 0;
  // Not well since the first of what fails began to; well since the last that failed ceased to.
  const times = (well ? report.checks : failing).map((check) => check.since).filter((time) => time !== undefined);
  const since = times.toSorted().at(well ? -1 : 0);
  const { running } = report;
  return (
    <section
      class={`glance ${report.runTimestamp === null ? '' : well ? 'glance-good' : 'glance-bad'}`}
      aria-live="polite"
    >
      <div>
        <h1>
          {report.runTimestamp === null
            ? 'No health report yet'
            : well
              ? 'The cluster is well'
              : `${failing.length} of ${report.checks.length} checks ${failing.length === 1 ? 'fails' : 'fail'}`}
        </h1>
        <p>
          {since !== undefined && (
            <>
              {well ? 'well' : 'not well'} since <When time={since} /> ·{' '}
            </>
          )}
          {report.runTimestamp === null ? (
            'The first run begins soon after the start.'
          ) : (
            <>
              checked <When time={report.runTimestamp} /> in {duration(report.durationMs ?? 0)}
            </>
          )}
        </p>
        {running && (
          <p role="status">
            <progress max={running.total ?? 1} value={running.done} aria-label="Progress of the run" /> A run{' '}
            {running.step}
            {running.done !== undefined && running.total !== undefined
              ? `: ${whole(running.done)} of ${whole(running.total)} reads`
              : ''}
          </p>
        )}
      </div>
      <BusyButton class="primary" onPress={props.onRun} disabled={Boolean(running)}>
        Run now
      </BusyButton>
    </section>
  );
}

function FilterBar(props: { filters: Filters; counts: { all: number; fail: number; pass: number } }): JSX.Element {
  const { filters, counts } = props;
  const input = (key: keyof Filters, label: string): JSX.Element => (
    <label class="inline">
      <span>{label}</span>
      <input type="search" value={filters[key]} onInput={(event) => setQuery({ [key]: event.currentTarget.value })} />
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
  const [fast, setFast] = useState(false);
  const data = useData('health', (signal) => call<HealthReport>('/clusterHealth', { signal }), fast ? 700 : 15_000);
  const definitions = useData('checks', (signal) => call<CheckDefinition[]>('/clusterHealth/list', { signal }));
  const [error, setError] = useState<string>();
  const running = Boolean(data.value?.running);
  useEffect(() => setFast(running), [running]);

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
      setFast(false);
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
      <Glance report={data.value} onRun={run} />
      <ErrorNote message={error ?? data.error} retry={data.reload} />
      <FilterBar
        filters={filters}
        counts={{
          all: checks.length,
          fail: checks.filter((check) => check.status === 'FAIL').length,
          pass: checks.filter((check) => check.status === 'PASS').length,
        }}
      />
      {shown.length === 0 && checks.length > 0 && <p class="muted">No check meets these filters.</p>}
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

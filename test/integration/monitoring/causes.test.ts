import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { healthMetrics } from '../../../src/health/metrics.ts';
import type { ClusterHealthReportStatus } from '../../../src/resources/health-status.ts';
import { installed } from '../../../tools/pinot/jvm.ts';
import { execute } from '../../support/execute.ts';
import { healthyCluster } from '../../support/model-cluster.ts';
import {
  clusterWith,
  disable,
  lose,
  NIGHT_FAULTS,
  reportOn,
  stop,
  type Documents,
} from '../../support/night-faults.ts';

// Which alerts fire while a cluster goes through states: its reports as metrics, one after the other, and the rules in promtool.
const NOW = Date.now();
const MINUTE_MS = 60_000;
/** Minutes between runs. */
const RUN = 10;
const RULES = join(resolve(import.meta.dirname, '../../..'), 'charts/olap-warden/files/alerts.yaml');

let promtool: string;
let folder: string;
let rulesFile: string;
let alertNames: readonly string[];

interface Rule {
  readonly alert: string;
  readonly labels: Readonly<Record<string, string>>;
}

beforeAll(async () => {
  promtool = join(await installed('prometheus'), 'promtool');
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-causes-'));
  rulesFile = join(folder, 'rules.yaml');
  const { groups } = parse(await readFile(RULES, 'utf8')) as { groups: { name: string; rules: Rule[] }[] };
  const rules = groups.filter(({ name }) => /-(?:causes|health)$/u.test(name)).flatMap((group) => group.rules);
  alertNames = [...new Set(rules.map(({ alert }) => alert))];
  // Their texts are the matter of another test.
  const bare = rules.map((rule) => ({ ...rule, annotations: {} }));
  await writeFile(rulesFile, stringify({ groups: [{ name: 'all', rules: bare }] }));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The series of a report, as a scrape has them. */
async function seriesOf(status: ClusterHealthReportStatus): Promise<Map<string, string>> {
  const registry = new Registry();
  healthMetrics(registry, () => [{ name: 'cluster', status }]);
  const lines = (await registry.metrics()).split('\n').filter((line) => line.includes('report="cluster"'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), line.slice(line.lastIndexOf(' ') + 1)] as const),
  );
}

/** @param states of the cluster, one for each run */
async function reports(states: readonly ((documents: Documents) => void)[]): Promise<ClusterHealthReportStatus[]> {
  const all: ClusterHealthReportStatus[] = [];
  for (const [i, state] of states.entries()) {
    const at = NOW + i * RUN * MINUTE_MS;
    all.push(await reportOn(clusterWith(state, at), at, all.at(-1)));
  }
  return all;
}

type Expected = readonly { readonly alert: string; readonly severity: string; readonly entity?: string }[];

/** Fails unless exactly these alerts fire. @param expected by minute */
async function fires(
  states: readonly ((documents: Documents) => void)[],
  expected: Readonly<Record<number, Expected>>,
): Promise<void> {
  const all = await Promise.all((await reports(states)).map(seriesOf));
  const names = new Set(all.flatMap((series) => [...series.keys()]));
  const input_series = [...names].map((series) => ({
    series,
    values: all
      .map((one) =>
        Array(RUN * 2)
          .fill(one.get(series) ?? 'stale')
          .join(' '),
      )
      .join(' '),
  }));
  const { groups } = parse(await readFile(rulesFile, 'utf8')) as { groups: { rules: Rule[] }[] };
  const labelsOf = (alert: string, severity: string) =>
    groups[0]?.rules.find((rule) => rule.alert === alert && rule.labels['severity'] === severity)?.labels;
  const alert_rule_test = Object.entries(expected).flatMap(([minute, alerts]) =>
    alertNames.map((alertname) => ({
      eval_time: `${minute}m`,
      alertname,
      exp_alerts: alerts
        .filter(({ alert }) => alert === alertname)
        .map(({ severity, entity }) => ({
          exp_labels: { ...labelsOf(alertname, severity), ...seriesLabels(alertname, entity) },
        })),
    })),
  );
  const file = join(folder, 'tests.yaml');
  await writeFile(
    file,
    stringify({
      rule_files: [rulesFile],
      evaluation_interval: '30s',
      tests: [{ interval: '30s', input_series, alert_rule_test }],
    }),
  );
  const { stdout, stderr } = await execute(promtool, ['test', 'rules', file]);
  expect(stdout + stderr).toContain('SUCCESS');
}

const KINDS: Readonly<Record<string, readonly [kind: string, entityType: string]>> = {
  OlapCauseInstanceDown: ['instance-down', 'server'],
  OlapCauseInstanceDisabled: ['instance-disabled', 'server'],
  OlapCauseTableUnserved: ['table-unserved', 'table'],
};

function seriesLabels(alert: string, entity: string | undefined): Record<string, string> {
  const [kind = '', entity_type = ''] = KINDS[alert] ?? [];
  return { report: 'cluster', kind, entity_type, entity: entity ?? '' };
}

const WELL = (): void => {};
const down = (n: number) => (documents: Documents) => stop(documents, `Server_s${n}_8098`);

describe('the alerts of causes', () => {
  it('are none in a rolling restart, however long it takes', async () => {
    const states = [0, 1, 2, 0, 1, 2, 0, 1, 2].map(down);
    await fires([...states, WELL], Object.fromEntries(Array.from({ length: 33 }, (_, i) => [i * 3, []])));
  });

  it('are one warning for one dead server of three, and one page after an hour', async () => {
    const one = (severity: string): Expected => [
      { alert: 'OlapCauseInstanceDown', severity, entity: 'Server_s1_8098' },
    ];
    const states = [WELL, ...Array.from({ length: 8 }, () => down(1)), WELL, WELL];
    await fires(states, { 9: [], 20: [], 36: one('warning'), 69: one('warning'), 72: one('critical'), 95: [] });
  });

  it('are one page at once for segments without any replica', async () => {
    const lost = (documents: Documents) => lose(documents, 'events__1__2__20260101T0000Z');
    const page = [{ alert: 'OlapCauseTableUnserved', severity: 'critical', entity: 'events_REALTIME' }];
    await fires([WELL, lost, lost, lost, WELL], { 9: [], 12: page, 39: page, 41: [] });
  });

  it('are one for a disabled server behind several checks', async () => {
    const disabled = (documents: Documents) => disable(documents, 'Server_s1_8098');
    const [first] = await reports([disabled]);
    expect(first?.checks?.filter(({ status }) => status === 'FAIL').length).toBeGreaterThan(1);
    const one = (severity: string): Expected => [
      { alert: 'OlapCauseInstanceDisabled', severity, entity: 'Server_s1_8098' },
    ];
    await fires(Array(8).fill(disabled), { 24: [], 26: one('warning'), 59: one('warning'), 62: one('critical') });
  });

  it('page at once when all servers are down', async () => {
    const [status] = await reports([NIGHT_FAULTS['all servers are down'] as () => void]);
    expect(status?.causes?.map(({ severity }) => severity)).toEqual(['critical']);
    expect((await reportOn(healthyCluster(NOW), NOW, status)).causes).toBeUndefined();
  });
});

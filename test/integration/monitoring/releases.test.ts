import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { ADMISSION_APIS, MONITORING_API } from '../../../tools/helm/combinations.ts';
import { helmTools, render, type Release } from '../../../tools/helm/render.ts';
import { installed } from '../../../tools/pinot/jvm.ts';
import { execute as run } from '../../support/execute.ts';

// Several releases with one Prometheus and one Grafana.
interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
}
interface Rendered {
  readonly kind: string;
  readonly spec: { readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[] };
  readonly data: Readonly<Record<string, string>>;
}
interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly templating: { readonly list: readonly { readonly name: string; readonly current: object }[] };
}

let promtool: string;
let helm: string;
let folder: string;

beforeAll(async () => {
  promtool = join(await installed('prometheus'), 'promtool');
  helm = join(await helmTools(), 'helm');
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-releases-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function rendered(kind: string, release: Release, metrics: object = {}): Promise<Rendered> {
  const combination = { name: kind, values: { metrics }, apis: [...ADMISSION_APIS, MONITORING_API] };
  const objects = parseAllDocuments(await render(helm, combination, release)).map((each) => each.toJS() as Rendered);
  const found = objects.find((object) => object?.kind === kind && (kind !== 'ConfigMap' || hasDashboards(object)));
  if (!found) throw new Error(`the chart renders no ${kind}`);
  return found;
}

const hasDashboards = ({ data }: Rendered): boolean => Object.keys(data).some((key) => key.endsWith('.json'));

async function rulesOf(release: Release, metrics: object = {}): Promise<{ rules: Rule[]; file: string }> {
  const { spec } = await rendered('PrometheusRule', release, metrics);
  const file = join(folder, `${release.namespace}.yaml`);
  await writeFile(file, stringify(spec));
  return { rules: spec.groups.flatMap(({ rules }) => rules), file };
}

const STAGING = { namespace: 'staging' };

describe('the alerts of a release', () => {
  it('are valid, and each of their selectors has the namespace of the release', async () => {
    const { rules, file } = await rulesOf(STAGING);
    expect((await run(promtool, ['check', 'rules', file])).stdout).toContain('SUCCESS');
    for (const { alert, expr } of rules) {
      const selectors = expr.match(/\b(?:olap_?warden|leader_election)_\w+(?:\{[^}]*\})?/g) ?? [];
      expect(selectors.length, alert).toBeGreaterThan(0);
      expect(
        selectors.filter((selector) => !selector.includes('namespace="staging"')),
        alert,
      ).toEqual([]);
    }
  });

  it('fire for its own metrics, not for those of another release, and when it has none', async () => {
    const { rules, file } = await rulesOf(STAGING);
    const series = (namespace: string, name: string, values: string) => ({
      series: `${name}{namespace="${namespace}",pod="a"}`,
      values,
    });
    const alerts = ['OlapWardenConfigRejected', 'OlapWardenViewStale', 'OlapWardenMetricsAbsent'];
    const fires = (names: readonly string[], labels: Record<string, string>) =>
      alerts.map((alertname) => {
        const rule = rules.find(({ alert }) => alert === alertname)!;
        const exp = { exp_labels: { ...rule.labels, ...labels }, exp_annotations: rule.annotations };
        return { alertname, eval_time: '30m', exp_alerts: names.includes(alertname) ? [exp] : [] };
      });
    const failing = (namespace: string) => [
      series(namespace, 'olap_warden_info', '1x80'),
      series(namespace, 'olap_warden_config_rejected', '1x80'),
      series(namespace, 'olap_warden_store_age_seconds', '100x80'),
    ];
    const own = { namespace: 'staging', pod: 'a' };
    const tests = [
      { input_series: failing('staging'), alert_rule_test: fires(alerts.slice(0, 2), own) },
      { input_series: failing('production'), alert_rule_test: fires(alerts.slice(2), { namespace: 'staging' }) },
    ].map((test) => ({ interval: '30s', ...test }));
    const tested = join(folder, 'tests.yaml');
    await writeFile(tested, stringify({ rule_files: [file], evaluation_interval: '30s', tests }));
    const { stdout, stderr } = await run(promtool, ['test', 'rules', tested]);
    expect(stdout + stderr).toContain('SUCCESS');
  });

  it.each<[string, object, string]>([
    ['without the ServiceMonitor', { serviceMonitor: { enabled: false } }, 'namespace=~".*"'],
    [
      'with a relabeling of the namespace',
      { serviceMonitor: { relabelings: [{ targetLabel: 'namespace', replacement: 'x' }] } },
      'namespace=~".*"',
    ],
    [
      'when the label is dropped',
      { serviceMonitor: { metricRelabelings: [{ action: 'labeldrop', regex: 'pod|name.*' }] } },
      'namespace=~".*"',
    ],
    [
      'when only other labels are kept',
      { serviceMonitor: { metricRelabelings: [{ action: 'labelkeep', regex: 'pod' }] } },
      'namespace=~".*"',
    ],
    [
      'when another label is dropped',
      { serviceMonitor: { metricRelabelings: [{ action: 'labeldrop', regex: 'pod' }] } },
      'namespace="staging"',
    ],
    ['with a selector', { alerts: { selector: 'cluster="a",ns=~"b|c"' } }, 'cluster="a",ns=~"b|c"'],
  ])('select %s', async (_case, metrics, selector) => {
    const { rules, file } = await rulesOf(STAGING, metrics);
    expect((await run(promtool, ['check', 'rules', file])).stdout).toContain('SUCCESS');
    expect(rules.at(-1)?.expr).toBe(`absent(olap_warden_info{${selector}})`);
  });

  it('are refused with a selector that is none', async () => {
    await expect(rulesOf(STAGING, { alerts: { selector: '{namespace="olap"}' } })).rejects.toThrow(
      'metrics.alerts.selector must be label matchers such as cluster="main",namespace="olap"',
    );
  });
});

describe('the dashboards of a release', () => {
  const dashboardsOf = async (release: Release, metrics: object = {}): Promise<[string, Dashboard][]> => {
    const { data } = await rendered('ConfigMap', release, metrics);
    return Object.entries(data).map(([key, json]) => [key, JSON.parse(json) as Dashboard]);
  };
  const namespaceOf = ({ templating }: Dashboard) => templating.list.find(({ name }) => name === 'namespace')?.current;

  it('have a file, a uid and a title of their own', async () => {
    const releases: Release[] = [STAGING, { namespace: 'production' }, { namespace: 'staging', name: 'other' }];
    const all = (await Promise.all(releases.map((release) => dashboardsOf(release)))).flat();
    expect(all).toHaveLength(6);
    expect(new Set(all.map(([key]) => key)).size).toBe(6);
    expect(new Set(all.map(([, { uid }]) => uid)).size).toBe(6);
    // The greatest length for Grafana.
    for (const [, { uid }] of all) expect(uid).toMatch(/^[\w-]{1,40}$/u);
    expect(all.slice(0, 2).map(([, { title }]) => title)).toEqual([
      'olap-warden (staging)',
      'olap-warden: operation (staging)',
    ]);
  });

  it('begin with the namespace of the release, or with all where the label is not known', async () => {
    for (const [, dashboard] of await dashboardsOf(STAGING))
      expect(namespaceOf(dashboard)).toEqual({ text: 'staging', value: 'staging' });
    for (const [, dashboard] of await dashboardsOf(STAGING, { serviceMonitor: { enabled: false } }))
      expect(namespaceOf(dashboard)).toEqual({ text: 'All', value: '$__all' });
  });
});

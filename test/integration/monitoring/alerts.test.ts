import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { CATALOGUE } from '../../../src/health/catalogue.ts';
import { CAUSE_KINDS } from '../../../src/resources/health-cause.ts';
import { installed } from '../../../tools/pinot/jvm.ts';
import { execute as run } from '../../support/execute.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
}

const root = resolve(import.meta.dirname, '../../..');
const rulesFile = join(root, 'charts/olap-warden/files/alerts.yaml');

let promtool: string;
let folder: string;
let rules: Rule[];

beforeAll(async () => {
  promtool = join(await installed('prometheus'), 'promtool');
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-alerts-'));
  const { groups } = parse(await readFile(rulesFile, 'utf8')) as { groups: { rules: Rule[] }[] };
  rules = groups.flatMap((group) => group.rules);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const series = (check: string, values: string) => ({
  series: `olap_warden_health_check_failing{check="${check}"}`,
  values,
});
/** The alert of a check that fails and has no critical fault, if it has another alert for these. */
const ruleOf = (check: string): Rule => {
  const found = rules.find(({ expr }) => expr.includes(`check_failing{check="${check}",`));
  if (found === undefined) throw new Error(`no alert for ${check}`);
  return found;
};

const named = (alert: string): Rule => {
  const found = rules.find((rule) => rule.alert === alert);
  if (found === undefined) throw new Error(`no alert ${alert}`);
  return found;
};

/** @param some the rules to load, all by default: promtool evaluates each of them at every step */
async function promtoolTest(tests: readonly object[], some?: readonly Rule[]): Promise<string> {
  const [file, someFile] = [join(folder, 'tests.yaml'), join(folder, 'some.yaml')];
  if (some !== undefined) await writeFile(someFile, stringify({ groups: [{ name: 'some', rules: some }] }));
  const rule_files = [some === undefined ? rulesFile : someFile];
  await writeFile(file, stringify({ rule_files, evaluation_interval: '30s', tests }));
  const { stdout, stderr } = await run(promtool, ['test', 'rules', file]);
  return stdout + stderr;
}

/** The annotations of an alert after the expansion of its templates. @param found what the queries of the templates find */
const expanded = (rule: Rule, found = ''): Record<string, string> => ({
  ...rule.annotations,
  description: found + (rule.annotations['description'] ?? '').replace(/^\{\{.*\{\{ end \}\}/u, ''),
});

const firing = (rule: Rule, expected: boolean, metricLabels: Record<string, string>) => ({
  alertname: rule.alert,
  eval_time: expected ? '30m' : '60m',
  exp_alerts: expected ? [{ exp_labels: { ...rule.labels, ...metricLabels }, exp_annotations: expanded(rule) }] : [],
});

/** Each has a second alert. */
const OF_TWO_SEVERITIES = CATALOGUE.filter(({ otherSeverity }) => otherSeverity !== undefined);

describe('the alerts', () => {
  it('are valid for promtool, one for each check, kind of cause and severity, four for the task, one for access and 18 for olap-warden', async () => {
    const { stdout } = await run(promtool, ['check', 'rules', rulesFile]);
    expect(OF_TWO_SEVERITIES.map(({ name }) => name)).toEqual([
      'IDEAL_STATE_EV_MISMATCH_CHECK',
      'INSTANCE_HEALTH_API_CHECK',
      'INGESTION_STOPPED_CHECK',
      'TABLE_CONSISTENCY_CHECK',
      'TENANT_SERVERS_CHECK',
      'SERVER_DISK_USAGE_CHECK',
      'ZOOKEEPER_NODE_SIZE_CHECK',
    ]);
    expect(stdout).toContain(
      `${CATALOGUE.length + OF_TWO_SEVERITIES.length + 2 * CAUSE_KINDS.length + 23} rules found`,
    );
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(CATALOGUE.length + CAUSE_KINDS.length + 23);
  });

  it('refer to existing runbooks and chapters that name them', async () => {
    for (const { alert, annotations } of rules) {
      const url = annotations['runbook_url'] ?? '';
      const [path = '', anchor] = url.replace(/^.*\/docs\//, 'docs/').split('#');
      const content = await readFile(join(root, path), 'utf8');
      if (anchor === undefined) continue;
      const chapter = content
        .split(/\n##+ /)
        .find((part) => part.split('\n')[0]?.toLowerCase().replaceAll(' ', '-') === anchor);
      expect(chapter, url).toContain(`*Alert \`${alert}\``);
    }
  });

  it('of a check use the metrics of no other check, in their expressions and in their texts', () => {
    const ofChecks = rules.filter(({ expr }) => /check_(failing|critical)\{check=/u.test(expr));
    expect(ofChecks).toHaveLength(CATALOGUE.length + OF_TWO_SEVERITIES.length);
    for (const { alert, expr, annotations } of ofChecks) {
      const texts = [expr, ...Object.values(annotations)].join('\n');
      const selectors = [...texts.matchAll(/olap_warden_health_\w+\{([^}]*)\}/gu)].map(([, labels = '']) => labels);
      const checks = new Set(selectors.map((labels) => /(?:^|,)check="(\w+)"/u.exec(labels)?.[1]));
      expect([...checks], alert).toEqual([expect.stringMatching(/_CHECK$/u)]);
    }
  });

  // One run of promtool for all checks: it evaluates every rule at every step, whatever the test is about.
  it('fire after half an hour of FAIL and resolve after half an hour of PASS, each for its own check only', async () => {
    const output = await promtoolTest([
      {
        interval: '30s',
        input_series: CATALOGUE.map(({ name }) => series(name, '1x60 0x60')),
        alert_rule_test: CATALOGUE.flatMap(({ name: check }) => {
          const rule = ruleOf(check);
          return [firing(rule, true, { check }), firing(rule, false, { check })];
        }),
      },
    ]);
    expect(output).toContain('SUCCESS');
  });

  it.each(OF_TWO_SEVERITIES)('have the severity of the worst fault of $name', async ({ name: check }) => {
    const of = (severity: string): Rule =>
      rules.find(({ expr, labels }) => expr.includes(`{check="${check}",`) && labels['severity'] === severity)!;
    const [critical, warning] = [of('critical'), of('warning')];
    const at = (eval_time: string, firingNow?: Rule) => ({
      alertname: critical.alert,
      eval_time,
      exp_alerts:
        firingNow === undefined
          ? []
          : [{ exp_labels: { ...firingNow.labels, check }, exp_annotations: expanded(firingNow) }],
    });
    // The worst fault is critical from the 30th to the 60th minute; all is well from the 90th on.
    const output = await promtoolTest(
      [
        {
          interval: '30s',
          input_series: [
            series(check, '1x180 0x60'),
            { series: `olap_warden_health_check_critical{check="${check}"}`, values: '0x59 1x60 0x120' },
          ],
          alert_rule_test: [
            at('20m'),
            at('26m', warning),
            at('32m', critical),
            at('60m', critical),
            at('62m'),
            at('89m', warning),
            at('100m'),
          ],
        },
      ],
      [critical, warning],
    );
    expect(output).toContain('SUCCESS');
  });

  it('do not fire while all faults of the check are muted, and fire when the mute has expired', async () => {
    const check = 'QUERY_HEALTH_CHECK';
    const rule = ruleOf(check);
    const muted = (values: string) => ({ series: `olap_warden_health_check_muted{check="${check}"}`, values });
    const at = (eval_time: string, fires: boolean) => ({
      ...firing(rule, true, { check }),
      eval_time,
      ...(fires ? {} : { exp_alerts: [] }),
    });
    const output = await promtoolTest([
      {
        interval: '30s',
        input_series: [series(check, '1x120'), muted('1x60 0x60')],
        alert_rule_test: [at('20m', false), at('30m', false), at('45m', true)],
      },
    ]);
    expect(output).toContain('SUCCESS');
  });

  it('name the number of findings and the first entities of their report', async () => {
    const check = 'QUERY_HEALTH_CHECK';
    const rule = ruleOf(check);
    const of = (name: string, labels: string, value: number) => ({
      series: `olap_warden_health_check_${name}{check="${check}",namespace="olap",report="cluster"${labels}}`,
      values: `${value}x60`,
    });
    const entity = (position: number, name: string, more = '') =>
      of('entity_info', `,position="${position}",entity_type="table",entity="${name}"${more}`, 1);
    const labels = { check, namespace: 'olap', report: 'cluster' };
    const alert = (found: string) => ({
      alertname: rule.alert,
      eval_time: '20m',
      exp_alerts: [{ exp_labels: { ...rule.labels, ...labels }, exp_annotations: expanded(rule, found) }],
    });
    const other = { ...entity(1, 'other_report'), series: entity(1, 'x').series.replace('"cluster"', '"nightly"') };
    const entities = [entity(2, 'b'), entity(1, 'a {{ 1 }} \\"'), entity(3, 'c'), other];
    const first = 'First found: a {{ 1 }} \\", b, c. ';
    const test = (evaluated: number, found: string, more: object[] = []) => ({
      interval: '30s',
      input_series: [
        of('failing', '', 1),
        of('findings', '', 12_345),
        of('evaluated', '', evaluated),
        ...entities,
        ...more,
      ],
      alert_rule_test: [alert(found)],
    });
    const output = await promtoolTest([
      test(1, `Findings: 12345. ${first.replace('\\"', '"')}`),
      // The latest run could not evaluate the check, so its findings are parts that it could not read.
      test(0, first.replace('\\"', '"')),
    ]);
    expect(output).toContain('SUCCESS');
  });

  it('do not fire for a check that could not be evaluated; that has its own alert after three runs', async () => {
    const runs = (check: string, values: string) => ({
      series: `olap_warden_health_check_unevaluated_runs{check="${check}",report="cluster",namespace="olap"}`,
      values,
    });
    const labels = { report: 'cluster', namespace: 'olap' };
    const [critical, others] = ['OlapHealthCriticalChecksNotEvaluated', 'OlapHealthChecksNotEvaluated'].map(named);
    if (!critical || !others) throw new Error('the alerts are missing');
    const at = (rule: Rule, eval_time: string, names: string) => ({
      ...firing(rule, true, labels),
      eval_time,
      exp_alerts:
        names === ''
          ? []
          : [{ exp_labels: { ...rule.labels, ...labels }, exp_annotations: expanded(rule, `${names}: `) }],
    });
    const output = await promtoolTest([
      {
        interval: '30s',
        input_series: [
          runs('QUERY_HEALTH_CHECK', '0x20 3x100'),
          runs('BROKER_RESOURCE_CHECK', '0x20 4x60 0x40'),
          runs('SEGMENT_SIZE_CHECK', '0x20 2x100'),
          // The state after runs that could not read anything.
          { series: 'olap_warden_health_check_status{check="QUERY_HEALTH_CHECK"}', values: '0x120' },
          { series: 'olap_warden_health_check_failing{check="QUERY_HEALTH_CHECK"}', values: '0x120' },
        ],
        alert_rule_test: [
          at(critical, '15m', ''),
          at(critical, '25m', 'BROKER_RESOURCE_CHECK, QUERY_HEALTH_CHECK'),
          at(critical, '50m', 'QUERY_HEALTH_CHECK'),
          at(others, '50m', ''),
          { alertname: ruleOf('QUERY_HEALTH_CHECK').alert, eval_time: '50m', exp_alerts: [] },
        ],
      },
    ]);
    expect(output).toContain('SUCCESS');
  });

  it('do not fire for a check that fails for one run only, unless it is critical', async () => {
    const check = 'SEGMENT_COUNT_CHECK';
    const quiet = { alertname: ruleOf(check).alert, eval_time: '20m', exp_alerts: [] };
    const output = await promtoolTest([
      { interval: '30s', input_series: [series(check, '0x10 1x39 0x40')], alert_rule_test: [quiet] },
    ]);
    expect(output).toContain('SUCCESS');
  });

  it('do not change when another operator becomes leader', async () => {
    const check = 'SEGMENT_COUNT_CHECK';
    const rule = ruleOf(check);
    const of = (operator: string, values: string) => ({
      series: `olap_warden_health_check_failing{check="${check}",job="olap",namespace="olap",instance="${operator}",pod="${operator}"}`,
      values,
    });
    const labels = { check, job: 'olap', namespace: 'olap' };
    const fires = firing(rule, true, labels);
    const lasting = ['26m', '30m', '30m30s', '31m', '31m30s', '32m', '45m', '60m'].map((eval_time) =>
      Object.assign(firing(rule, true, labels), { eval_time }),
    );
    // The first fails from the start and ends after half an hour; the second reports a minute and a half later, and a PASS after half an hour.
    const output = await promtoolTest([
      {
        interval: '30s',
        input_series: [of('a', '1x60 stale'), of('b', '_x62 1x60 0x60')],
        alert_rule_test: [
          { ...fires, eval_time: '20m', exp_alerts: [] },
          ...lasting,
          { ...fires, eval_time: '63m', exp_alerts: [] },
        ],
      },
    ]);
    expect(output).toContain('SUCCESS');
  });

  it.each(['role_assignment_subjects', 'service_tokens'])(
    'fire while %s expire within a day, and not for each new leader again',
    async (what) => {
      const rule = rules.find(({ alert }) => alert === 'OlapAccessExpiring');
      if (rule === undefined) throw new Error('the alert is missing');
      const of = (operator: string, values: string) => ({
        series: `olap_warden_${what}_expiring{namespace="olap",instance="${operator}",pod="${operator}"}`,
        values,
      });
      const fires = firing(rule, true, { namespace: 'olap' });
      const quiet = (eval_time: string) => ({ ...fires, eval_time, exp_alerts: [] });
      const output = await promtoolTest([
        {
          interval: '30s',
          // From minute 10 on one subject; another leader takes over at minute 20; renewed at minute 40.
          input_series: [of('a', '0x19 1x20 stale'), of('b', '_x42 1x37 0x60')],
          alert_rule_test: [
            quiet('9m'),
            quiet('14m'),
            ...['16m', '21m', '22m', '26m', '39m'].map((eval_time) => Object.assign({}, fires, { eval_time })),
            quiet('50m'),
          ],
        },
      ]);
      expect(output).toContain('SUCCESS');
    },
  );

  it('do not fire for a deleted report, but for all reports when there is no leader', async () => {
    const rule = named('OlapHealthReportStale');
    const next = (report: string, values: string) => ({
      series: `olap_warden_health_next_run_timestamp_seconds{namespace="olap",pod="a",report="${report}"}`,
      values,
    });
    const at = (eval_time: string, ...reports: string[]) => ({
      alertname: rule.alert,
      eval_time,
      exp_alerts: reports.map((report) => ({
        exp_labels: { ...rule.labels, namespace: 'olap', report },
        exp_annotations: rule.annotations,
      })),
    });
    const output = await promtoolTest(
      [
        {
          interval: '30s',
          input_series: [next('cluster', '1200+30x480'), next('deleted', '1200x20 stale')],
          alert_rule_test: [at('20m'), at('70m'), at('200m')],
        },
        {
          interval: '30s',
          input_series: [next('cluster', '1200x40 stale'), next('nightly', '6000x40 stale')],
          alert_rule_test: [at('70m', 'cluster'), at('200m', 'cluster', 'nightly')],
        },
      ],
      [rule],
    );
    expect(output).toContain('SUCCESS');
  });

  it('fire for an old report and for failing runs', async () => {
    const [stale, failing] = ['OlapHealthReportStale', 'OlapHealthTaskFailing'].map((name) =>
      rules.find(({ alert }) => alert === name),
    );
    if (!stale || !failing) throw new Error('the alerts of the task are missing');
    const at = (rule: Rule, eval_time: string, labels: Record<string, string> | undefined) => ({
      alertname: rule.alert,
      eval_time,
      exp_alerts:
        labels === undefined ? [] : [{ exp_labels: { ...rule.labels, ...labels }, exp_annotations: rule.annotations }],
    });
    const output = await promtoolTest(
      [
        {
          interval: '30s',
          input_series: [
            { series: 'olap_warden_health_next_run_timestamp_seconds{report="cluster"}', values: '1200x240' },
            { series: 'olap_warden_health_next_run_timestamp_seconds{report="weekly"}', values: '604800x240' },
          ],
          alert_rule_test: [at(stale, '59m', undefined), at(stale, '70m', { report: 'cluster' })],
        },
        {
          interval: '30s',
          input_series: [
            { series: 'olap_warden_health_failed_runs{report="cluster",pod="a"}', values: '0x20 1x40 2x40 3x100' },
          ],
          alert_rule_test: [
            at(failing, '9m', undefined),
            at(failing, '29m', undefined),
            at(failing, '60m', { report: 'cluster' }),
          ],
        },
        {
          interval: '30s',
          // An outage of 90 s at 10 min: three failed runs, then a complete one. And a longer one at 50 min.
          input_series: [
            {
              series: 'olap_warden_health_failed_runs{report="cluster"}',
              values: '0x19 1 2x1 3 0x76 1 2x1 3x3 4x9 5x4 0x40',
            },
          ],
          alert_rule_test: [
            ...['13m', '16m', '20m', '40m'].map((time) => at(failing, time, undefined)),
            at(failing, '58m', { report: 'cluster' }),
            at(failing, '63m', undefined),
          ],
        },
      ],
      [stale, failing],
    );
    expect(output).toContain('SUCCESS');
  });

  const POD = 'namespace="olap",pod="a",instance="a"';
  const info = (command: string, values = '1x120') => ({
    series: `olap_warden_info{${POD},command="${command}"}`,
    values,
  });

  it.each([
    ['OlapWardenViewStale', `olap_warden_store_age_seconds{${POD}}`, '20x10 70x10', '20x20'],
    ['OlapWardenUnhandledErrors', `olap_warden_unhandled_errors_total{${POD}}`, '0x5 1x20', '3x30'],
    ['OlapWardenLogLinesDropped', `olap_warden_log_dropped_total{${POD}}`, '0x5 1x20', '3x30'],
    ['OlapWardenAuditFailures', `olap_warden_audit_failures_total{${POD}}`, '0x5 1x20', '3x30'],
    ['OlapWardenAuditRecordsLeftOut', `olap_warden_audit_left_out_total{${POD}}`, '0x5 1x20', '3x30'],
    ['OlapWardenOidcKeysStale', `olap_warden_oidc_keys_stale{${POD}}`, '0x2 1x20', '0x2 1x4 0x20'],
    ['OlapWardenConfigRejected', `olap_warden_config_rejected{${POD}}`, '0x10 1x10', '0x20'],
    [
      'OlapWardenReconcileErrors',
      `olapwarden_operator_failing_objects{namespace="olap",controller="role"}`,
      '0x5 2x20',
      '0x5 2x8 0x10',
    ],
    [
      'OlapWardenDefinitionsOutdated',
      `olapwarden_operator_definitions_outdated{namespace="olap",kind="Role"}`,
      '0x5 1x20',
      '0x30',
    ],
    [
      'OlapWardenAsyncQueriesWait',
      `olap_warden_pagination_async_queries_waiting{${POD}}`,
      '0x5 1x60',
      '0x5 2x20 0x2 2x40',
      '25m',
    ],
  ])('%s fires, and does not without the cause', async (alert, name, bad, good, time = '10m') => {
    const rule = named(alert);
    const labels = Object.fromEntries(
      [...name.matchAll(/(\w+)="(\w+)"/g)].map(([, key = '', value = '']) => [key, value]),
    );
    const at = { alertname: alert, eval_time: time };
    const fires = [{ exp_labels: { ...rule.labels, ...labels }, exp_annotations: rule.annotations }];
    const output = await promtoolTest([
      {
        interval: '30s',
        input_series: [{ series: name, values: bad }],
        alert_rule_test: [{ ...at, exp_alerts: fires }],
      },
      { interval: '30s', input_series: [{ series: name, values: good }], alert_rule_test: [{ ...at, exp_alerts: [] }] },
    ]);
    expect(output).toContain('SUCCESS');
  });

  const ADDRESS = `${POD},role="broker",address="10.0.0.7:8099"`;
  const used = (limit: string, values: string) => ({
    series: `olap_warden_limit_used{${POD},limit="${limit}"}`,
    values,
  });
  const max = (limit: string, values: string) => ({ series: `olap_warden_limit_max{${POD},limit="${limit}"}`, values });
  const refused = (limit: string, values: string) => ({
    series: `olap_warden_limit_refused_total{${POD},limit="${limit}"}`,
    values,
  });
  const requests = (outcome: string, values: string) => ({
    series: `olap_warden_upstream_requests_total{${ADDRESS},outcome="${outcome}"}`,
    values,
  });
  const lag = (values: string) => ({ series: `nodejs_eventloop_lag_p99_seconds{${POD}}`, values });
  const space = (what: string, values: string) => ({
    series: `olap_warden_pagination_store_${what}_bytes{${POD}}`,
    values,
  });
  const ofLimit = { namespace: 'olap', pod: 'a', instance: 'a' };
  const ofAddress = { ...ofLimit, role: 'broker', address: '10.0.0.7:8099' };

  it.each([
    [
      'OlapWardenLimitReached',
      { ...ofLimit, limit: 'connections' },
      [used('connections', '95x60'), max('connections', '100x60')],
    ],
    ['OlapWardenLimitReached', { ...ofLimit, limit: 'memory' }, [refused('memory', '0+3x60')]],
    ['OlapWardenUpstreamWaits', ofAddress, [{ series: `olap_warden_upstream_waiting{${ADDRESS}}`, values: '4x60' }]],
    ['OlapWardenUpstreamFails', ofAddress, [requests('ok', '0+6x60'), requests('timeout', '0+4x60')]],
    ['OlapWardenLoopDelayed', ofLimit, [info('gateway'), lag('0.4x60')]],
    ['OlapWardenResultStoreFull', ofLimit, [space('capacity', '1000x60'), space('free', '60x60')]],
  ] as const)('%s fires for %o', async (alert, labels, series) => {
    const rule = named(alert);
    const texts = Object.entries(labels);
    const fill = (text: string): string =>
      texts.reduce((filled, [name, value]) => filled.replaceAll(`{{ $labels.${name} }}`, value), text);
    const annotations = Object.fromEntries(Object.entries(rule.annotations).map(([name, text]) => [name, fill(text)]));
    const alerts = [{ exp_labels: { ...rule.labels, ...labels }, exp_annotations: annotations }];
    const output = await promtoolTest([
      {
        interval: '30s',
        input_series: [...series],
        alert_rule_test: [{ alertname: alert, eval_time: '20m', exp_alerts: alerts }],
      },
    ]);
    expect(output).toContain('SUCCESS');
  });

  it.each([
    [
      'OlapWardenLimitReached',
      'a limit that is half used',
      [used('connections', '50x60'), max('connections', '100x60')],
    ],
    [
      'OlapWardenLimitReached',
      'a limit of one caller',
      [refused('request-rate', '0+3x60'), refused('queries', '0+3x60')],
    ],
    [
      'OlapWardenLimitReached',
      'many asynchronous queries',
      [used('asynchronous-queries', '8x60'), max('asynchronous-queries', '8x60')],
    ],
    [
      'OlapWardenUpstreamWaits',
      'a short wait',
      [{ series: `olap_warden_upstream_waiting{${ADDRESS}}`, values: '4x4 0x8 4x4 0x60' }],
    ],
    [
      'OlapWardenUpstreamFails',
      'responses with errors, and clients that go away',
      [requests('ok', '0+1x60'), requests('server-error', '0+4x60'), requests('aborted', '0+4x60')],
    ],
    [
      'OlapWardenUpstreamFails',
      'an address that is not asked any more',
      [requests('ok', '6x60'), requests('refused', '40x60')],
    ],
    ['OlapWardenLoopDelayed', 'another program', [lag('0.4x60')]],
    ['OlapWardenLoopDelayed', 'the usual delay', [info('gateway'), lag('0.03x60')]],
    ['OlapWardenResultStoreFull', 'a bucket', []],
  ] as const)('%s does not fire for %s', async (alert, _why, series) => {
    const quiet = ['10m', '20m', '28m'].map((eval_time) => ({ alertname: alert, eval_time, exp_alerts: [] }));
    const output = await promtoolTest([{ interval: '30s', input_series: [...series], alert_rule_test: quiet }]);
    expect(output).toContain('SUCCESS');
  });

  describe.each(['olap-warden', 'another-job'])('of processes that are scraped under the job name %s', (job) => {
    const pod = (name: string) => `job="${job}",namespace="olap",pod="${name}",instance="${name}"`;
    const process = (command: string, values: string, name = command) => {
      return { series: `olap_warden_info{${pod(name)},command="${command}"}`, values };
    };
    const leads = (values: string, name = 'operator') => {
      return { series: `leader_election_master_status{${pod(name)},name="lease"}`, values };
    };
    /** Two days of one sample a minute; before and after: without samples. */
    const [ALWAYS, NEVER] = ['1x2880', 'stale'];
    const GONE = '1x30 stale';
    const CAME_BACK = '1x30 stale _x1440 1x1400';
    /** Of an operator that knows the cluster. */
    const runs = (cluster: string) => {
      const labels = `${pod('operator')},report="${cluster}",result="success",cluster="${cluster}"`;
      return { series: `olap_warden_health_runs_total{${labels}}`, values: '0x2880' };
    };
    const gatewayOf = (cluster: string, values: string, name = 'gateway') => {
      return { series: `olap_warden_info{${pod(name)},command="gateway",cluster="${cluster}"}`, values };
    };
    const gateway = process('gateway', ALWAYS);
    const operator = process('operator', ALWAYS);

    it.each<[alert: string, when: string, series: object[], firing: string[], quiet: string[]]>([
      ['OlapWardenNoLeader', 'never came up', [gateway], ['10m', '1d'], []],
      ['OlapWardenNoLeader', 'waits for the Lease', [operator, leads('0x2880')], ['10m', '1d'], ['1m']],
      [
        'OlapWardenNoLeader',
        'is gone for a day',
        [gateway, process('operator', GONE), leads(GONE)],
        ['40m', '7h', '25h'],
        ['20m'],
      ],
      [
        'OlapWardenNoLeader',
        'came back',
        [gateway, process('operator', CAME_BACK), leads(CAME_BACK)],
        ['12h'],
        ['20m', '26h'],
      ],
      [
        'OlapWardenNoLeader',
        'is one of two',
        [operator, leads('1x2880'), process('operator', ALWAYS, 'b'), leads('0x2880', 'b')],
        [],
        ['10m', '1d'],
      ],
      [
        'OlapWardenNoLeader',
        'is the other one of two, after the first has ended',
        [process('operator', GONE), leads(GONE), process('operator', ALWAYS, 'b'), leads('0x30 1x2850', 'b')],
        [],
        ['20m', '40m', '1d'],
      ],
      ['OlapWardenNoLeader', 'is that of another program', [leads('0x2880')], [], ['10m', '1d']],
      ['OlapWardenNoGateway', 'never came up', [operator], ['10m', '1d'], ['1m']],
      ['OlapWardenNoGateway', 'is gone for a day', [operator, process('gateway', GONE)], ['40m', '7h', '25h'], ['20m']],
      ['OlapWardenNoGateway', 'came back', [operator, process('gateway', CAME_BACK)], ['12h'], ['20m', '26h']],
      [
        'OlapWardenNoGateway',
        'is one of two',
        [operator, process('gateway', GONE), process('gateway', ALWAYS, 'b')],
        [],
        ['20m', '1d'],
      ],
      [
        'OlapWardenNoGateway',
        'is those of two clusters',
        [operator, runs('events'), runs('sales'), gatewayOf('events', ALWAYS), gatewayOf('sales', ALWAYS, 'b')],
        [],
        ['20m', '1d'],
      ],
      [
        'OlapWardenNoGateway',
        'is scraped without the label of its cluster',
        [operator, runs('events'), runs('sales'), process('gateway', ALWAYS)],
        [],
        ['20m', '1d'],
      ],
      ['OlapWardenMetricsAbsent', 'never came up, and no other process', [process('x', NEVER)], ['20m', '1d'], ['10m']],
    ])('%s: one that %s', async (alert, _when, series, firing, quiet) => {
      const rule = named(alert);
      const exp_labels = { ...rule.labels, ...(alert === 'OlapWardenMetricsAbsent' ? {} : { namespace: 'olap' }) };
      const alert_rule_test = [
        ...firing.map((eval_time) => ({
          eval_time,
          alertname: alert,
          exp_alerts: [{ exp_labels, exp_annotations: rule.annotations }],
        })),
        ...quiet.map((eval_time) => ({ eval_time, alertname: alert, exp_alerts: [] })),
      ];
      const output = await promtoolTest([{ interval: '1m', input_series: series, alert_rule_test }], [rule]);
      expect(output).toContain('SUCCESS');
    });

    it('OlapWardenNoGateway names the cluster of which none is up', async () => {
      const rule = named('OlapWardenNoGateway');
      const input_series = [
        ...[operator, runs('events'), runs('sales')],
        ...[gatewayOf('events', ALWAYS), gatewayOf('sales', GONE, 'b')],
      ];
      const exp_labels = { ...rule.labels, namespace: 'olap', cluster: 'sales' };
      const alert_rule_test = [
        { eval_time: '20m', alertname: rule.alert, exp_alerts: [] },
        { eval_time: '1d', alertname: rule.alert, exp_alerts: [{ exp_labels, exp_annotations: rule.annotations }] },
      ];
      const output = await promtoolTest([{ interval: '1m', input_series, alert_rule_test }], [rule]);
      expect(output).toContain('SUCCESS');
    });
  });
});

import { describe, expect, it } from 'vitest';
import { firingAlerts } from '../../../../src/health/alerts/webhook-payload.ts';
import { isExplained } from '../../../../src/health/report/causes.ts';
import { clusterHealth } from '../../../../src/api/health/report.ts';
import type { HealthQuery } from '../../../../src/api/health/schemas.ts';
import { renderMarkdown, renderTable } from '../../../../src/health/report/render.ts';
import { buildStatus } from '../../../../src/health/report/report.ts';
import { withMutes } from '../../../../src/health/report/summary.ts';
import { MAX_CAUSES } from '../../../../src/resources/health-cause.ts';
import type { ClusterHealthReportStatus } from '../../../../src/resources/health-status.ts';
import { validateResource } from '../../../../src/resources/validate.ts';
import { checkResult, runResult } from '../../../builders/health-run.ts';
import { healthyCluster } from '../../../support/model-cluster.ts';
import {
  clusterWith,
  lose,
  NIGHT_FAULTS,
  rebalance,
  reportOn,
  restart,
  runOn,
  stop,
  type Documents,
} from '../../../support/night-faults.ts';

const NOW = Date.now();
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const SOURCE = { report: 'cluster', cluster: 'pinot' };

const fault = (name: string): Promise<ClusterHealthReportStatus> =>
  reportOn(clusterWith(NIGHT_FAULTS[name] as () => void, NOW), NOW);
const messages = ({ causes = [] }: ClusterHealthReportStatus) =>
  causes.map(({ severity, message }) => `${severity}: ${message}`);
const failing = ({ checks = [] }: ClusterHealthReportStatus) => checks.filter(({ status }) => status === 'FAIL');
/** Alerts of a status that has lasted for a day. */
const alertsOf = (status: ClusterHealthReportStatus, now = NOW + 24 * HOUR_MS) =>
  firingAlerts(status, SOURCE, now).alerts.map(({ labels }) => `${labels['severity']} ${labels['alertname']}`);

describe('the causes of a report', () => {
  it.each([
    [
      'one of three servers is down',
      'warning: server `Server_s1_8098` is down: 3 checks, 12 segments of 2 tables have lost one replica, none is without',
      'OlapCauseInstanceDown',
    ],
    [
      'one of three servers is disabled',
      'warning: server `Server_s1_8098` is disabled: 2 checks, 12 segments of 2 tables have lost one replica, none is without',
      'OlapCauseInstanceDisabled',
    ],
    [
      'all servers are down',
      /^critical: tenant `DefaultTenant` has no live, enabled server: \d checks, /,
      'OlapCauseTenantWithoutServers',
    ],
    [
      'a segment has no online replica',
      /^critical: segments of table `events_REALTIME` are on no server, although its servers are live: 2 checks, /,
      'OlapCauseTableUnserved',
    ],
    [
      'a schema is missing',
      /^critical: the sources of the cluster contradict each other about table `orders_OFFLINE`: /,
      'OlapCauseTableIncomplete',
    ],
    [
      'Pinot paused a table',
      /^critical: Pinot paused the consumption of table `events_REALTIME`: /,
      'OlapCauseIngestionPaused',
    ],
    ['a disk is full', 'critical: the disk of server `Server_s1_8098` is full: 1 check', 'OlapCauseDiskFull'],
  ])('%s: one cause, and one alert instead of one for each check', async (name, expected, alert) => {
    const status = await fault(name);
    expect(messages(status)).toEqual([typeof expected === 'string' ? expected : expect.stringMatching(expected)]);
    const severity = status.causes?.[0]?.severity;
    expect(alertsOf(status)).toEqual([`${severity} ${alert}`]);
    for (const check of failing(status)) {
      expect([check.name, isExplained(check)]).toEqual([check.name, true]);
      const ids = new Set(check.findings?.map(({ cause }) => cause));
      expect([check.name, ...ids]).toEqual([check.name, status.causes?.[0]?.id]);
    }
  });

  it('are valid, also in number and length', async () => {
    const status = await fault('two of three servers are down');
    expect(messages(status)).toHaveLength(2);
    const metadata = { name: 'cluster' };
    const report = { apiVersion: 'olapwarden.io/v1alpha1', kind: 'ClusterHealthReport', metadata, spec: {}, status };
    expect(validateResource('ClusterHealthReport', report)).toMatchObject({ ok: true });
    const facts = Array.from({ length: MAX_CAUSES + 5 }, (_, i) => ({
      ...({ id: `server/s${i}`, kind: 'instance-down', entityType: 'server', entity: 'x'.repeat(600) } as const),
      ...{ tables: 1, segments: 1, unserved: 0 },
    }));
    const results = facts.map(({ id }) => checkResult('REPLICATION_CHECK', 1, { finding: { cause: id } }));
    const many = buildStatus({
      ...{ result: { ...runResult(), results, causes: facts }, previous: undefined, generation: 1, runAt: undefined },
      ...{ maxFindings: 20, now: NOW },
    });
    expect(many.causes).toHaveLength(MAX_CAUSES);
    expect(many.causes?.every(({ message, entity }) => message.length <= 1024 && entity.length <= 512)).toBe(true);
  });

  it('of a healthy cluster are none', async () => {
    expect((await reportOn(healthyCluster(NOW), NOW)).causes).toBeUndefined();
  });

  it('keep their time from run to run, and end with the fault', async () => {
    const documents = clusterWith(NIGHT_FAULTS['one of three servers is down'] as () => void, NOW);
    const first = await reportOn(documents, NOW);
    const second = await reportOn(documents, NOW + 20 * MINUTE_MS, first);
    expect(second.causes?.map(({ since }) => since)).toEqual([new Date(NOW).toISOString()]);
    expect((await reportOn(healthyCluster(NOW), NOW + 40 * MINUTE_MS, second)).causes).toBeUndefined();
  });

  it('stay while the cluster cannot be read, and so does their alert', async () => {
    const before = await fault('all servers are down');
    const unread = await reportOn(new Map(), NOW + 20 * MINUTE_MS, before);
    expect(unread.causes?.map(({ id }) => id)).toEqual(['tenant/DefaultTenant']);
    expect(alertsOf(unread).filter((alert) => alert.includes('Cause'))).toEqual([
      'critical OlapCauseTenantWithoutServers',
    ]);
    expect(alertsOf(unread).filter((alert) => /OlapQuery|OlapIdealState/.test(alert))).toEqual([]);
  });

  it('have no alert while all of their findings are muted', async () => {
    const status = await fault('one of three servers is disabled');
    const until = new Date(NOW + 48 * HOUR_MS).toISOString();
    const mute = (id: string, entity: string) => ({ id, entity, reason: 'known', until });
    const mutes = [mute('server', 'Server_s1_8098'), mute('orders', 'orders_*'), mute('events', 'events_*')];
    const some = withMutes(status, mutes.slice(0, 1), { generation: 1, now: NOW });
    expect(alertsOf(some)).toEqual(['warning OlapCauseInstanceDisabled']);
    const all = withMutes(status, mutes, { generation: 1, now: NOW });
    expect(alertsOf(all)).toEqual([]);
    expect(alertsOf(withMutes(all, [], { generation: 1, now: NOW }))).toEqual(['warning OlapCauseInstanceDisabled']);
  });

  it('leave the alert of a check with another fault', async () => {
    const documents = clusterWith((all) => {
      stop(all, 'Server_s1_8098');
      lose(all, 'events__1__2__20260101T0000Z');
    }, NOW);
    // The segment is on the servers s1 and s0, of which s0 is well.
    const status = await reportOn(documents, NOW);
    expect(status.causes?.[0]).toMatchObject({ entity: 'Server_s1_8098', severity: 'critical', unserved: 1 });
  });
});

describe('what is shown of causes', () => {
  const DOWN =
    'server `Server_s1_8098` is down: 3 checks, 12 segments of 2 tables have lost one replica, none is without';
  const documents = () => clusterWith(NIGHT_FAULTS['one of three servers is down'] as () => void, NOW);

  it('in a terminal and in Markdown comes before the checks', async () => {
    const run = await runOn(documents());
    expect(renderTable(run, { colours: false, width: 200 })).toMatch(new RegExp(`^warning  ${DOWN}\n\n`, 'u'));
    expect(renderMarkdown(run)).toContain(`\n- **warning**: ${DOWN}\n\n| | Check |`);
  });

  it('in REST are all of them, or those behind the findings that a filter selects', async () => {
    const status = await reportOn(
      clusterWith((all, now) => {
        stop(all, 'Server_s1_8098');
        NIGHT_FAULTS['a schema is missing']?.(all, now);
      }, NOW),
      NOW,
    );
    const ids = (query: HealthQuery) => clusterHealth(status, query, NOW).causes.map(({ id }) => id);
    expect(ids({})).toEqual(['table/orders_OFFLINE', 'server/Server_s1_8098']);
    expect(ids({ instance: 'Server_s1_8098' })).toEqual(['server/Server_s1_8098']);
    expect(ids({ table: 'events' })).toEqual(['server/Server_s1_8098']);
    expect(ids({ check: 'TABLE_CONSISTENCY_CHECK' })).toEqual(['table/orders_OFFLINE']);
    const { checks } = clusterHealth(status, { check: 'INSTANCE_AVAILABILITY_CHECK' }, NOW);
    expect(checks).toMatchObject([{ causedCount: 1, findings: [{ cause: 'server/Server_s1_8098' }] }]);
  });
});

describe('the severity of lost replicas', () => {
  const critical = (status: ClusterHealthReportStatus) =>
    failing(status).flatMap(({ name, severity }) => (severity === 'critical' ? [name] : []));

  it('is a warning, and critical after an hour, also where the operator was restarted in between', async () => {
    const documents = clusterWith((all) => stop(all, 'Server_s1_8098'), NOW);
    let status = await reportOn(documents, NOW);
    expect(critical(status)).toEqual([]);
    for (const minutes of [20, 40, 59]) {
      status = await reportOn(documents, NOW + minutes * MINUTE_MS, JSON.parse(JSON.stringify(status)));
      expect([minutes, ...critical(status)]).toEqual([minutes]);
    }
    status = await reportOn(documents, NOW + HOUR_MS, status);
    expect(critical(status)).toEqual(['IDEAL_STATE_EV_MISMATCH_CHECK', 'INSTANCE_HEALTH_API_CHECK']);
    expect(alertsOf(status)).toEqual(['critical OlapCauseInstanceDown']);
  });

  it('does not add up over servers that restart one after the other', async () => {
    let status: ClusterHealthReportStatus | undefined;
    for (let step = 0; step < 9; step += 1) {
      const at = NOW + step * 10 * MINUTE_MS;
      const documents = healthyCluster(at);
      stop(documents, `Server_s${step % 3}_8098`);
      status = await reportOn(documents, at, status);
      expect([step, ...critical(status)]).toEqual([step]);
      expect(firingAlerts(status, SOURCE, at + 9 * MINUTE_MS).alerts).toEqual([]);
    }
  });

  it('is critical at once where a segment has no replica', async () => {
    expect(critical(await fault('a segment has no online replica'))).toEqual([
      'IDEAL_STATE_EV_MISMATCH_CHECK',
      'SEGMENTS_WITHOUT_ONLINE_REPLICA_CHECK',
    ]);
    expect(critical(await fault('two of three servers are down'))).toContain('SEGMENTS_WITHOUT_ONLINE_REPLICA_CHECK');
  });

  const starting = (documents: Documents, minutes: number) => {
    stop(documents, 'Server_s2_8098');
    documents.set('GET /zk/ls?path=/c/LIVEINSTANCES', healthyCluster(NOW).get('GET /zk/ls?path=/c/LIVEINSTANCES')!);
    for (const server of ['Server_s1_8098', 'Server_s2_8098']) restart(documents, server, NOW - minutes * MINUTE_MS);
  };

  it('is a warning while the servers of these segments start, for ten minutes', async () => {
    const documents = clusterWith((all) => {
      restart(all, 'Server_s1_8098', NOW - 2 * MINUTE_MS);
      lose(all, 'events__1__2__20260101T0000Z');
    }, NOW);
    const status = await reportOn(documents, NOW);
    expect(status.causes?.map(({ kind, severity }) => [kind, severity])).toEqual([['instance-starting', 'warning']]);
    expect(critical(status)).toEqual([]);
    // It joins again and again: no session is older than ten minutes, but the fault is.
    restart(documents, 'Server_s1_8098', NOW + 10 * MINUTE_MS);
    expect(critical(await reportOn(documents, NOW + 11 * MINUTE_MS, status))).not.toEqual([]);
    const old = clusterWith((all) => starting(all, 30), NOW);
    expect(critical(await reportOn(old, NOW))).not.toEqual([]);
  });

  it('is a warning during a rebalance that Pinot reports, for an hour', async () => {
    const documents = clusterWith((all) => lose(all, 'events__1__2__20260101T0000Z'), NOW);
    rebalance(documents, 'events_REALTIME');
    const status = await reportOn(documents, NOW);
    expect(status.causes?.map(({ kind, severity }) => [kind, severity])).toEqual([['table-rebalancing', 'warning']]);
    expect(critical(status)).toEqual([]);
    expect(critical(await reportOn(documents, NOW + HOUR_MS, status))).not.toEqual([]);
  });
});

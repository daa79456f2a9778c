import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { policy, role, roleAssignment, serviceToken } from '../builders/resources.ts';
import { named } from '../support/documents/obstacle.ts';
import { canHoldCluster, startCluster, type Cluster } from '../support/kind/cluster.ts';
import { startPinot, type Pinot } from '../support/pinot.ts';
import { Release } from '../support/release/release.ts';
import { KUBECTL_TIMEOUT, WAIT_LIMIT_MS } from '../support/limits.ts';
import { CRDS_CHART } from '../../tools/helm/render.ts';

// Two releases of the same name on one cluster, each in front of a Pinot cluster of its own, as docs/install.md describes.
const IMAGE = { repository: 'olap-warden.test/olap-warden', tag: 'two', pullPolicy: 'Never' };
/** The first run on a machine builds the node's programs and the sample tables. */
const SETUP_LIMIT_MS = 1_500_000;

const obstacle = canHoldCluster();

interface Environment {
  readonly release: Release;
  readonly pinot: Pinot;
  /** The only table of its Pinot. */
  readonly table: string;
  /** The Service, from this machine. */
  url: string;
  /** A service token with a role for every table. */
  token: string;
}

describe.skipIf(obstacle)(named('two environments on a real cluster', obstacle), () => {
  let node: Cluster;
  const environments: Environment[] = [];

  beforeAll(async () => {
    node = await startCluster();
    for (const [namespace, table] of [
      ['olap-staging', 'orders'],
      ['olap-production', 'customers'],
    ] as const) {
      const pinot = await startPinot({ servers: 3, tables: [table] });
      environments.push({ release: new Release(node, namespace), pinot, table, url: '', token: '' });
      await node.mustKubectl(['create', 'namespace', namespace]);
    }
    await environments[0]!.release.loadImage(`${IMAGE.repository}:${IMAGE.tag}`);
  }, SETUP_LIMIT_MS);
  afterAll(async () => {
    await Promise.all(environments.map(({ pinot }) => pinot.stop()));
    await node?.stop();
  });

  const query = (url: string, token: string, table: string): Promise<Response> =>
    fetch(`${url}/query/sql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ sql: `SELECT COUNT(*) FROM ${table}` }),
      signal: AbortSignal.timeout(WAIT_LIMIT_MS),
    });
  const status = async (url: string, token: string, table: string): Promise<number> =>
    query(url, token, table).then(
      (answer) => answer.status,
      () => 0,
    );

  /** Rows of the table; undefined if its Pinot does not know it, which some versions say with status 200. */
  async function count(url: string, token: string, table: string): Promise<number | undefined> {
    const answer = (await (await query(url, token, table)).json()) as {
      exceptions?: unknown[];
      resultTable?: { rows: number[][] };
    };
    const rows = answer.resultTable?.rows[0]?.[0];
    if (rows === undefined) expect(JSON.stringify(answer)).toContain('TableDoesNotExistError');
    return rows;
  }

  it('are installed with the definitions as a release of their own', async () => {
    const [first] = environments as [Environment, Environment];
    await first.release.helm(['install', 'olap-warden-crds', CRDS_CHART]);
    for (const { release, pinot } of environments) {
      const brokers = await Promise.all(pinot.brokerUrls.map((broker) => node.expose(broker)));
      const engine = { controllers: [await node.expose(pinot.controllerUrl)], brokers };
      await release.deploy({
        image: IMAGE,
        engine,
        crds: { enabled: false },
        operator: { replicas: 1 },
        gateway: { replicas: 1 },
      });
    }
    for (const environment of environments) {
      const ip = await environment.release.kubectl('get', 'service', 'olap-warden', '-o', 'jsonpath={.spec.clusterIP}');
      environment.url = await node.reach(`http://${ip}`);
    }
  });

  it('each serves its own Pinot to those with roles in its namespace', async () => {
    for (const environment of environments) {
      const { release, table, url } = environment;
      const statement = { effect: 'allow' as const, actions: ['Query'], resources: ['srn2:table#*'] };
      await release.apply(
        policy('read', { statements: [statement] }),
        role('readers', { policies: ['read'] }),
        serviceToken('job', { secretName: 'job-token' }),
        roleAssignment('job', { role: 'readers', subjects: [{ type: 'service-token', name: 'job' }] }),
      );
      await release.kubectl('wait', '--for=jsonpath={.status.state}=Active', KUBECTL_TIMEOUT, 'otoken/job');
      const secret = await release.kubectl('get', 'secret', 'job-token', '-o', 'jsonpath={.data.bearerToken}');
      environment.token = Buffer.from(secret, 'base64').toString();
      await expect.poll(() => status(url, environment.token, table), { interval: 500 }).toBe(200);
      expect(await count(url, environment.token, table)).toBeGreaterThan(0);
    }
    const [staging, production] = environments as [Environment, Environment];
    expect(await status(production.url, staging.token, production.table)).toBe(401);
    expect(await status(staging.url, production.token, staging.table)).toBe(401);
    // Each one has only the tables of its own engine.
    expect(await count(staging.url, staging.token, production.table)).toBeUndefined();
    expect(await count(production.url, production.token, staging.table)).toBeUndefined();
  });

  it('each runs its own health checks', async () => {
    for (const { release } of environments) {
      await release.kubectl('annotate', 'chr', 'cluster', 'olapwarden.io/run-at=now', '--overwrite');
      await release.kubectl('wait', '--for=jsonpath={.status.observedRunAt}=now', KUBECTL_TIMEOUT, 'chr/cluster');
    }
  });

  it('the second keeps serving, reconciling and its objects when the first is uninstalled', async () => {
    const [staging, production] = environments as [Environment, Environment];
    await staging.release.helm(['uninstall', 'olap-warden', '--wait', '--timeout', '120s']);
    expect(await status(production.url, production.token, production.table)).toBe(200);
    await production.release.apply(role('later', { policies: ['read'] }));
    await production.release.kubectl('wait', '--for=condition=Ready', KUBECTL_TIMEOUT, 'roles.olapwarden.io/later');
    expect(await staging.release.kubectl('get', 'roles.olapwarden.io', 'readers', '-o', 'name')).toContain('readers');
  });
});

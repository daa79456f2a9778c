import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { policy, role, roleAssignment, serviceToken } from '../builders/resources.ts';
import { named } from '../support/documents/obstacle.ts';
import { canHoldCluster, startCluster, type Cluster } from '../support/kind/cluster.ts';
import { sharedPinot } from '../support/pinot.ts';
import { exerciseGateway, exerciseOperator } from '../support/kubernetes/exercise.ts';
import { Rights } from '../support/kubernetes/rights.ts';
import { Release } from '../support/release/release.ts';
import { Traffic } from '../support/release/traffic.ts';
import { KUBECTL_TIMEOUT, TEST_LIMIT_MS, WAIT_LIMIT_MS } from '../support/limits.ts';
import { until as untilHolds } from '../support/until.ts';

const IMAGE = { repository: 'olap-warden.test/olap-warden', tag: 'e2e', pullPolicy: 'Never' };
const NAMESPACE = 'olap';
/** The first run on a machine builds the node's programs and the sample cluster. */
const SETUP_LIMIT_MS = 1_500_000;
const ORDERS = 'SELECT orderId, city FROM orders ORDER BY orderedAt LIMIT 500';

const obstacle = canHoldCluster();

/** Waits for a state of the cluster, which is read with kubectl. */
const until = (what: string, holds: () => Promise<boolean>): Promise<void> => untilHolds(what, holds, () => sleep(250));

// The steps depend on each other, as in the life cycle of a release.
describe.skipIf(obstacle)(named('a release on a real cluster', obstacle), () => {
  let node: Cluster;
  let release: Release;
  let values: Record<string, unknown>;
  /** The Service, from this machine. */
  let url: string;
  let token: string;
  /** One of the gateways: each one sees its own writes at once. */
  let firstGateway: string;

  beforeAll(async () => {
    const pinot = await sharedPinot();
    node = await startCluster();
    release = new Release(node, NAMESPACE);
    await release.loadImage(`${IMAGE.repository}:${IMAGE.tag}`);
    await node.mustKubectl(['create', 'namespace', NAMESPACE]);
    await node.mustKubectl(['label', 'namespace', NAMESPACE, 'pod-security.kubernetes.io/enforce=restricted']);
    values = {
      image: IMAGE,
      engine: {
        controllers: [await node.expose(pinot.controllerUrl)],
        brokers: await Promise.all(pinot.brokerUrls.map((broker) => node.expose(broker))),
      },
      firstAdministrator: { name: `system:serviceaccount:${NAMESPACE}:admin` },
    };
  }, SETUP_LIMIT_MS);
  afterAll(async () => {
    await node?.stop();
  });

  function ask(
    base: string,
    path: string,
    credential: string,
    body?: object,
    method = body ? 'POST' : 'GET',
  ): Promise<Response> {
    return fetch(base + path, {
      method,
      headers: {
        authorization: `Bearer ${credential}`,
        connection: 'close',
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(WAIT_LIMIT_MS),
    });
  }

  it('is upgraded from the chart of the last release', { timeout: 2 * TEST_LIMIT_MS }, async () => {
    await release.deployReleased(values);
    await release.deploy(values);
  });

  it('is installed under the restricted pod security level, and passes `helm test`', async () => {
    await release.deploy(values);
    const pods = [...(await release.pods('operator')), ...(await release.pods('gateway'))];
    expect(pods.map(({ ready, restarts }) => [ready, restarts])).toEqual(Array.from({ length: 4 }, () => [true, 0]));
    const address = await release.kubectl('get', 'service', release.name, '-o', 'jsonpath={.spec.clusterIP}');
    url = await node.reach(`http://${address}`);
    expect(await release.helm(['test', release.name, '--timeout', '120s'])).toMatch(/Phase:\s+Succeeded/);
  });

  it('applies a Role and accepts a token from a Secret with it', async () => {
    const statement = { effect: 'allow' as const, actions: ['Query'], resources: ['srn2:table#orders'] };
    await release.apply(
      policy('read-orders', { statements: [statement] }),
      role('readers', { policies: ['read-orders'] }),
      serviceToken('job', { secretName: 'job-token' }),
      roleAssignment('job', { role: 'readers', subjects: [{ type: 'service-token', name: 'job' }] }),
    );
    await release.kubectl('wait', '--for=condition=Ready', KUBECTL_TIMEOUT, 'roles.olapwarden.io/readers');
    await release.kubectl('wait', '--for=jsonpath={.status.state}=Active', KUBECTL_TIMEOUT, 'otoken/job');
    const secret = await release.kubectl('get', 'secret', 'job-token', '-o', 'jsonpath={.data.bearerToken}');
    token = Buffer.from(secret, 'base64').toString();
    const query = (table: string, credential = token) =>
      ask(url, '/query/sql', credential, { sql: `SELECT COUNT(*) FROM ${table}` });
    // Each gateway receives the token by its own watch.
    let inARow = 0;
    await until('the token works', async () => {
      inARow = (await query('orders')).status === 200 ? inARow + 1 : 0;
      return inARow >= 10;
    });
    const answer = (await (await query('orders')).json()) as { resultTable: { rows: number[][] } };
    expect(answer.resultTable.rows[0]?.[0]).toBeGreaterThan(0);
    expect((await query('customers')).status).toBe(403);
    expect((await query('orders', 'svc-no-such')).status).toBe(401);
  });

  it('runs the health checks on demand', async () => {
    await release.kubectl('annotate', 'chr', 'cluster', 'olapwarden.io/run-at=now', '--overwrite');
    await release.kubectl('wait', '--for=jsonpath={.status.observedRunAt}=now', KUBECTL_TIMEOUT, 'chr/cluster');
    const report = JSON.parse(await release.kubectl('get', 'chr', 'cluster', '-o', 'json')) as {
      status: { pass: number; fail: number; checks: unknown[] };
    };
    expect(report.status.checks.length).toBeGreaterThan(10);
    expect(report.status.pass + report.status.fail).toBe(report.status.checks.length);
    expect(report.status.pass).toBeGreaterThan(report.status.fail);
    const admin = (await release.kubectl('create', 'serviceaccount', 'admin')) && (await adminToken());
    expect((await ask(url, '/clusterHealth', admin)).status).toBe(200);
    expect((await ask(url, '/clusterHealth', token)).status).toBe(403);
  });

  async function adminToken(): Promise<string> {
    return (await release.kubectl('create', 'token', 'admin', '--audience', 'olap-warden')).trim();
  }

  it('serves the pages of a result from each gateway', async () => {
    const gateways = await Promise.all(
      (await release.pods('gateway')).map(({ ip }) => node.reach(`http://${ip}:8080`)),
    );
    expect(gateways).toHaveLength(2);
    const [first = '', second = ''] = gateways;
    firstGateway = first;
    const direct = (await (await ask(first, '/query/sql', token, { sql: ORDERS })).json()) as Rows;
    const paged = '/query/sql?doPaginate=true&numRows=100';
    const started = (await (await ask(first, paged, token, { sql: ORDERS })).json()) as Rows & { requestId: string };
    const rows = [...started.resultTable.rows];
    for (let offset = 100; offset < 500; offset += 100) {
      const path = `/query/${started.requestId}/results?offset=${offset}&numRows=100`;
      const answer = await ask(offset % 200 === 0 ? first : second, path, token);
      expect(answer.status, path).toBe(200);
      rows.push(...((await answer.json()) as Rows).resultTable.rows);
    }
    expect(rows).toEqual(direct.resultTable.rows);
  });

  interface Rows {
    readonly resultTable: { readonly rows: readonly unknown[] };
  }

  it('uses all of its rights', async () => {
    const admin = await adminToken();
    const hands = {
      kubectl: release.kubectl.bind(release),
      apply: release.apply.bind(release),
      createAsGateway: release.createAsGateway.bind(release),
    };
    await exerciseOperator(hands);
    await exerciseGateway(hands, async <T>(method: string, path: string, body?: object) => {
      const answer = await ask(firstGateway, path, admin, body, method);
      const text = await answer.text();
      expect(answer.status, `${method} ${path}: ${text}`).toBe(200);
      return (text.startsWith('{') ? JSON.parse(text) : text) as T;
    });
  });

  it('elects another leader when the process of the leader is killed', async () => {
    const before = await release.lease();
    const leader = await release.leader();
    await release.killProcess(leader);
    await until('another process leads', async () => {
      const { holderIdentity } = await release.lease();
      return holderIdentity !== '' && holderIdentity !== before.holderIdentity;
    });
    // Directly from the killed leader to the next one.
    expect((await release.lease()).leaseTransitions).toBe(before.leaseTransitions + 1);
    await until('its kubelet has started it again', async () => {
      const pod = (await release.pods('operator')).find(({ name }) => name === leader);
      return pod?.restarts === 1 && pod.ready;
    });
  });

  it('elects another leader when the pod of the leader is killed', async () => {
    const before = await release.leader();
    const pods = (await release.pods('operator')).map(({ name }) => name);
    expect(pods).toContain(before);
    await release.kill(before);
    await until('another pod leads', async () => (await release.leader()) !== before);
    await release.apply(role('after-the-leader', { policies: ['read-orders'] }));
    await release.kubectl('wait', '--for=condition=Ready', KUBECTL_TIMEOUT, 'roles.olapwarden.io/after-the-leader');
    await release.kubectl('rollout', 'status', 'deploy/olap-warden-operator', KUBECTL_TIMEOUT);
  });

  it('keeps serving when a gateway is killed, which restarts with its name', async () => {
    const [victim] = await release.pods('gateway');
    await release.kill(victim?.name ?? '');
    await until('the Service excludes the killed gateway', async () => {
      const { addresses } = await endpoints();
      return !addresses.includes(victim?.ip ?? '');
    });
    // kube-proxy updates its rules shortly after the endpoints, so the first requests may still fail.
    let served = 0;
    await until('20 requests in a row are served', async () => {
      const status = await ask(url, '/query/sql', token, { sql: ORDERS }).then((answer) => answer.status, String);
      served = status === 200 ? served + 1 : 0;
      return served === 20;
    });
    await until('the gateway is back', async () => {
      const pods = await release.pods('gateway');
      return pods.length === 2 && pods.every(({ ready }) => ready) && !pods.some(({ uid }) => uid === victim?.uid);
    });
    expect((await release.pods('gateway')).map(({ name }) => name)).toContain(victim?.name);
  });

  async function endpoints(): Promise<{ addresses: string[] }> {
    const template = 'jsonpath={.items[*].endpoints[?(@.conditions.ready==true)].addresses[0]}';
    const slices = ['get', 'endpointslices', '-l', `kubernetes.io/service-name=${release.name}`, '-o', template];
    return { addresses: (await release.kubectl(...slices)).split(' ').filter(Boolean) };
  }

  it(
    'follows a changed setting, and is upgraded under traffic without one failed request',
    { timeout: 2 * TEST_LIMIT_MS },
    async () => {
      const admin = { name: 'another@example.com' };
      await release.deploy({ ...values, firstAdministrator: admin });
      await until('the changed setting is followed', async () => {
        const subjects = ['get', 'orolebinding', '-o', 'jsonpath={.items[*].spec.subjects[*].name}'];
        return (await release.kubectl(...subjects)).includes(admin.name);
      });
      const before = new Set((await release.pods('gateway')).map(({ uid }) => uid));
      const traffic = new Traffic({
        url: `${url}/query/sql`,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ sql: 'SELECT COUNT(*) FROM orders' }),
        clients: 4,
        pauseMs: 50,
      });
      await sleep(1_000);
      try {
        // With the user of a namespace of OpenShift, who owns nothing in the image and is in the group of root.
        const podSecurityContext = { runAsUser: 1_000_730_000, runAsGroup: 0, fsGroup: 1_000_730_000 };
        const settings = { 'log-level': 'debug' };
        await release.deploy({ ...values, firstAdministrator: {}, settings, podSecurityContext });
        await sleep(1_000);
      } finally {
        const { answered, failures } = await traffic.end();
        expect(failures).toEqual([]);
        expect(answered).toBeGreaterThan(100);
      }
      const after = await release.pods('gateway');
      expect(after.map(({ ready }) => ready)).toEqual([true, true]);
      expect(after.filter(({ uid }) => before.has(uid))).toEqual([]);
      await release.kubectl('wait', '--for=condition=Ready', KUBECTL_TIMEOUT, 'roles.olapwarden.io/readers');
    },
  );

  it('got no denial from the API server, and has no right that it does not use', async () => {
    const rights = new Rights(node.directory, NAMESPACE, (args) => node.mustKubectl(args));
    for (const component of ['operator', 'gateway'] as const) {
      const account = `${release.name}-${component}`;
      // The last released chart does not grant the record of usage, which gateways of this version read while it is installed.
      const refused = (await rights.refused(account)).filter(
        (one) => component !== 'gateway' || one !== 'get configmaps.',
      );
      expect(refused, component).toEqual([]);
      const [used, granted] = [await rights.used(account), await rights.granted(account)];
      const ofTheCluster = component === 'gateway' ? ['create tokenreviews.authentication.k8s.io'] : [];
      expect(used, component).toEqual([...granted, ...ofTheCluster].sort());
    }
  });

  it('keeps the custom resources when it is uninstalled', async () => {
    await release.helm(['uninstall', release.name, '--wait', '--timeout', '120s']);
    const kinds =
      'policies.olapwarden.io,roles.olapwarden.io,roleassignments.olapwarden.io,servicetokens.olapwarden.io';
    const left = (await release.kubectl('get', kinds, '-o', 'name')).trim().split('\n');
    expect(left).toEqual(expect.arrayContaining(['role.olapwarden.io/readers', 'servicetoken.olapwarden.io/job']));
    await until('the pods are deleted', async () => (await release.kubectl('get', 'pods', '-o', 'name')) === '');
    const rules = 'clusterroles,clusterrolebindings,validatingadmissionpolicies,mutatingadmissionpolicies';
    const selector = ['-l', 'app.kubernetes.io/part-of=olap-warden'];
    expect(await release.kubectl('get', rules, ...selector, '-o', 'name')).toBe('');
  });

  it('does not delay the deletion of its namespace', async () => {
    await node.mustKubectl(['delete', 'namespace', NAMESPACE, KUBECTL_TIMEOUT]);
    expect((await node.kubectl(['get', 'namespace', NAMESPACE])).stderr).toContain('not found');
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { policy, role, roleAssignment, serviceToken } from '../builders/resources.ts';
import { named } from '../support/documents/obstacle.ts';
import { canHoldCluster, startCluster, type Cluster } from '../support/kind/cluster.ts';
import { KUBECTL_TIMEOUT, WAIT_LIMIT_MS } from '../support/limits.ts';
import { startPinot, type Pinot } from '../support/pinot.ts';
import { Release } from '../support/release/release.ts';

// One release with gateways for two Pinot clusters, as docs/install.md describes.
const IMAGE = { repository: 'olap-warden.test/olap-warden', tag: 'clusters', pullPolicy: 'Never' };
/** The first run on a machine builds the node's programs and the sample tables. */
const SETUP_LIMIT_MS = 1_500_000;
/** The only table of each cluster. */
const TABLES = { shop: 'orders', crm: 'customers' } as const;
type Name = keyof typeof TABLES;
const SERVICES = { shop: 'olap-warden', crm: 'olap-warden-crm' } as const;

const obstacle = canHoldCluster();

describe.skipIf(obstacle)(named('two Pinot clusters in one environment of a real cluster', obstacle), () => {
  let node: Cluster;
  let release: Release;
  let one: object;
  let two: object;
  const pinots: Pinot[] = [];
  const urls = {} as Record<Name, string>;
  const tokens = {} as Record<Name | 'both', string>;

  beforeAll(async () => {
    node = await startCluster();
    release = new Release(node, 'olap');
    await node.mustKubectl(['create', 'namespace', 'olap']);
    const engineOf = async (name: Name) => {
      const pinot = await startPinot({ servers: 2, tables: [TABLES[name]] });
      pinots.push(pinot);
      const brokers = await Promise.all(pinot.brokerUrls.map((broker) => node.expose(broker)));
      return { controllers: [await node.expose(pinot.controllerUrl)], brokers };
    };
    one = {
      image: IMAGE,
      engine: { ...(await engineOf('shop')), clusterName: 'shop' },
      operator: { replicas: 1 },
      gateway: { replicas: 1 },
    };
    two = { ...one, clusters: [{ name: 'crm', ...(await engineOf('crm')) }] };
    await release.loadImage(`${IMAGE.repository}:${IMAGE.tag}`);
  }, SETUP_LIMIT_MS);
  afterAll(async () => {
    await Promise.all(pinots.map((pinot) => pinot.stop()));
    await node?.stop();
  });

  async function status(at: Name, token: string): Promise<number> {
    const answer = fetch(`${urls[at]}/query/sql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ sql: `SELECT COUNT(*) FROM ${TABLES[at]}` }),
      signal: AbortSignal.timeout(WAIT_LIMIT_MS),
    });
    return answer.then(
      (response) => response.status,
      () => 0,
    );
  }

  async function reach(name: Name): Promise<void> {
    const ip = await release.kubectl('get', 'service', SERVICES[name], '-o', 'jsonpath={.spec.clusterIP}');
    urls[name] = await node.reach(`http://${ip}`);
  }

  /** A service token that may query the resource. */
  async function tokenFor(name: string, resource: string): Promise<string> {
    await release.apply(
      policy(name, { statements: [{ effect: 'allow', actions: ['Query'], resources: [resource] }] }),
      role(name, { policies: [name] }),
      serviceToken(name, { secretName: `${name}-token` }),
      roleAssignment(name, { role: name, subjects: [{ type: 'service-token', name }] }),
    );
    await release.kubectl('wait', '--for=jsonpath={.status.state}=Active', KUBECTL_TIMEOUT, `otoken/${name}`);
    const secret = await release.kubectl('get', 'secret', `${name}-token`, '-o', 'jsonpath={.data.bearerToken}');
    return Buffer.from(secret, 'base64').toString();
  }

  it('the second is added to a release', async () => {
    await release.deploy(one);
    await reach('shop');
    tokens.both = await tokenFor('both', 'srn2:table#*');
    tokens.shop = await tokenFor('shop', 'srn2:cluster#shop:table#*');
    tokens.crm = await tokenFor('crm', 'srn2:cluster#crm:table#*');
    await expect.poll(() => status('shop', tokens.both), { interval: 500 }).toBe(200);
    await release.deploy(two);
    await reach('crm');
    await expect.poll(() => status('crm', tokens.both), { interval: 500 }).toBe(200);
  });

  it('each has gateways that decide by the statements of their cluster, or of all', async () => {
    const statuses = async (token: string) => [await status('shop', token), await status('crm', token)];
    await expect.poll(() => statuses(tokens.both), { interval: 500 }).toEqual([200, 200]);
    await expect.poll(() => statuses(tokens.shop), { interval: 500 }).toEqual([200, 403]);
    await expect.poll(() => statuses(tokens.crm), { interval: 500 }).toEqual([403, 200]);
  });

  it('each has a report of the one operator', async () => {
    for (const report of ['cluster', 'crm']) {
      await release.kubectl('annotate', 'chr', report, 'olapwarden.io/run-at=now', '--overwrite');
      await release.kubectl('wait', '--for=jsonpath={.status.observedRunAt}=now', KUBECTL_TIMEOUT, `chr/${report}`);
    }
    const operators = await release.kubectl('get', 'pods', '-l', 'app.kubernetes.io/component=operator', '-o', 'name');
    expect(operators.trim().split('\n')).toHaveLength(1);
  });

  it('the first keeps serving when the second is removed, and the roles stay', async () => {
    await release.deploy(one);
    expect(await status('shop', tokens.both)).toBe(200);
    const left = await release.kubectl('get', 'statefulsets,services', '-o', 'name');
    expect(left).not.toContain('olap-warden-crm');
    await release.kubectl('wait', '--for=condition=Ready=false', KUBECTL_TIMEOUT, 'chr/crm');
    expect(await release.kubectl('get', 'roles.olapwarden.io', 'crm', '-o', 'name')).toContain('crm');
  });
});

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { named } from '../../support/documents/obstacle.ts';
import { startNode, type KubernetesNode } from '../../support/node.ts';
import { canHoldNode } from '../../support/node/machine.ts';
import { startNodePinot } from '../../support/node/pinot.ts';
import { buildPodImage } from '../../support/node/pod-image.ts';
import { KUBECTL_TIMEOUT } from '../../support/limits.ts';
import { until } from '../../support/until.ts';
import { once } from '../../support/once.ts';
import { execute } from '../../support/execute.ts';

const obstacle = canHoldNode();
const IMAGE = 'olap-warden.test/answers:1';
const root = join(import.meta.dirname, '../../..');

/** Everything that a node changes on the host: mounts, interfaces, firewall rules, sysctls, cgroups. */
async function hostState(): Promise<unknown> {
  const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').sort();
  const sysctls = ['vm/overcommit_memory', 'kernel/panic', 'kernel/panic_on_oops', 'net/ipv4/ip_forward'];
  return {
    mounts,
    sysctls: await Promise.all(sysctls.map((name) => readFile(`/proc/sys/${name}`, 'utf8'))),
    interfaces: (await readdir('/sys/class/net')).sort(),
    rules: (await execute('nft', ['list', 'ruleset'])).stdout,
    folders: ['/var/lib/kubelet', '/var/lib/cni', '/var/lib/containerd', '/run/containerd'].filter((path) =>
      existsSync(path),
    ),
  };
}

async function cgroupsOf(node: string): Promise<string[]> {
  const hierarchies = await readdir('/sys/fs/cgroup');
  return hierarchies.filter((hierarchy) => existsSync(join('/sys/fs/cgroup', hierarchy, node)));
}

const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'answers', namespace: 'restricted' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'answers' } },
    template: {
      metadata: { labels: { app: 'answers' } },
      spec: {
        terminationGracePeriodSeconds: 1,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
        containers: [
          {
            name: 'answers',
            image: IMAGE,
            imagePullPolicy: 'Never',
            ports: [{ containerPort: 8080, name: 'http' }],
            readinessProbe: { httpGet: { path: '/', port: 'http' }, periodSeconds: 1 },
            resources: { requests: { cpu: '10m', memory: '32Mi' }, limits: { memory: '128Mi' } },
            securityContext: {
              allowPrivilegeEscalation: false,
              readOnlyRootFilesystem: true,
              capabilities: { drop: ['ALL'] },
            },
          },
        ],
      },
    },
  },
};

function service(name: string, spec: object): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'restricted' },
    spec: { selector: { app: 'answers' }, ports: [{ port: 80, targetPort: 'http' }], ...spec },
  };
}

const namespace = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: 'restricted', labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
};

describe.skipIf(obstacle)(named('a node', obstacle), () => {
  let node: KubernetesNode;
  let before: unknown;
  const inNamespace = ['--namespace', 'restricted'];

  beforeAll(async () => {
    before = await hostState();
    node = await startNode();
    const archive = join(node.directory, 'answers.tar');
    await buildPodImage(archive, IMAGE, join(import.meta.dirname, 'answers.ts'));
    await node.importImage(archive);
    const items = [namespace, deployment, service('answers', {}), service('headless', { clusterIP: 'None' })];
    await node.mustKubectl(['apply', '-f', '-'], { input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }) });
    await node.mustKubectl([...inNamespace, 'rollout', 'status', 'deployment/answers', KUBECTL_TIMEOUT]);
  }, 1_800_000); // on a new machine the parts are built first

  afterAll(async () => {
    await node?.stop();
  });

  /** The output of a program in a pod of the Deployment. */
  async function inPod(script: string): Promise<string> {
    const command = [...inNamespace, 'exec', 'deployment/answers', '--', '/nodejs/bin/node', '-e', script];
    return (await node.mustKubectl(command)).stdout.trim();
  }

  it('runs pods under the restricted pod security level, and keeps their logs', async () => {
    const { stdout } = await node.mustKubectl([...inNamespace, 'get', 'pods', '-o', 'json']);
    const pods = (JSON.parse(stdout) as { items: { status: { phase: string; podIP: string } }[] }).items;
    expect(pods.map((pod) => pod.status.phase)).toEqual(['Running', 'Running']);
    expect(new Set(pods.map((pod) => pod.status.podIP)).size).toBe(2);
    const logs = await node.mustKubectl([...inNamespace, 'logs', 'deployment/answers']);
    expect(logs.stdout).toContain('listening on 8080');
  });

  it('distributes a Service over its pods, for the host and for other pods', async () => {
    const clusterIp = ['get', 'service', 'answers', '-o', 'jsonpath={.spec.clusterIP}'];
    const { stdout: address } = await node.mustKubectl([...inNamespace, ...clusterIp]);
    const url = await node.reach(`http://${address}`);
    const names = new Set<string>();
    const answer = async () => (await fetch(url, { headers: { connection: 'close' } })).text();
    // The endpoints are active after kube-proxy's next synchronisation, within about a second.
    await until('both pods have answered', async () => {
      const name = await answer().catch(() => undefined);
      if (name !== undefined) names.add(name);
      return names.size === 2;
    });
    expect([...names]).toEqual([expect.stringMatching(/^answers-/), expect.stringMatching(/^answers-/)]);
    expect(await inPod("fetch('http://answers/').then(async (r) => console.log(await r.text()))")).toMatch(/^answers-/);
  });

  it('resolves a headless Service to the address of each pod', async () => {
    const script =
      "require('dns').promises.resolve4('headless.restricted.svc.cluster.local').then((a) => console.log(a.length))";
    expect(await inPod(script)).toBe('2');
    const unknown = "require('dns').promises.lookup('nothing.restricted').catch((e) => console.log(e.code))";
    expect(await inPod(unknown)).toBe('ENOTFOUND');
  });

  it("lets pods reach a server of the host's loopback", async () => {
    const server = createServer((request, response) => response.end(`the host heard ${request.url}`));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    try {
      const url = await node.expose(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
      const script = `fetch('${url}/from-a-pod').then(async (r) => console.log(await r.text()))`;
      expect(await inPod(script)).toBe('the host heard /from-a-pod');
    } finally {
      server.close();
    }
  });

  it("runs a Pinot in the node's network, whose brokers pods find through its controller", async () => {
    const pinot = await startNodePinot(node, { tables: ['customers'] });
    try {
      expect(await pinot.client.query('SELECT COUNT(*) FROM customers')).toContain('"rows":[[20000]]');
      const script = `fetch('${pinot.inside.controllerUrl}/v2/brokers/tables/customers').then(async (answer) => {
        const [{ host, port }] = await answer.json();
        const body = JSON.stringify({ sql: 'SELECT COUNT(*) FROM customers' });
        const result = await fetch('http://' + host + ':' + port + '/query/sql', { method: 'POST', body });
        console.log(JSON.stringify((await result.json()).resultTable.rows));
      })`;
      expect(await inPod(script)).toBe('[[20000]]');
    } finally {
      await pinot.stop();
    }
  });

  it('leaves no change on the host', async () => {
    const name = node.directory.split('/').at(-1) ?? '';
    expect(await cgroupsOf(name)).toContain('memory');
    await node.stop();
    expect(await cgroupsOf(name)).toEqual([]);
    expect(existsSync(node.directory)).toBe(false);
    expect(await hostState()).toEqual(before);
  });
});

describe.skipIf(obstacle)(named('a node whose owner is killed', obstacle), () => {
  it('ends and leaves no change on the host', async () => {
    const support = join(root, 'test/support/node.ts');
    const script = `const { startNode } = await import(${JSON.stringify(support)});
      const node = await startNode({ dns: false });
      console.log(node.directory);
      setInterval(() => {}, 1000);`;
    const owner = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(owner.stdout.setEncoding('utf8'), 'data')) as [string];
    const directory = line.trim();
    const name = directory.split('/').at(-1) ?? '';
    expect(await cgroupsOf(name)).toContain('memory');
    owner.kill('SIGKILL');
    await until('the folder is removed', () => !existsSync(directory));
    await until('its cgroups are removed', async () => (await cgroupsOf(name)).length === 0);
  });
});

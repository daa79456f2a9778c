import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { policy, role } from '../../builders/resources.ts';
import { startControlPlane, type ControlPlane } from '../../support/control-plane.ts';
import { recordsAuthors } from '../../support/kubernetes/manifests.ts';
import { runCommand } from '../../support/node/command.ts';
import { freePorts } from '../../support/kubernetes/processes.ts';
import { eventually } from '../../support/operator.ts';
import { Program } from '../../support/processes.ts';
import { releasedChart } from '../../support/release/release.ts';
import { CHART, CRDS_CHART, helmTools } from '../../../tools/helm/render.ts';
import { KUBECTL_TIMEOUT } from '../../support/limits.ts';

/** The first use on a machine builds helm. */
const BUILD_TIMEOUT_MS = 600_000;
const NAME = 'olap-warden';
const RULES = ['validatingadmissionpolicies', 'validatingadmissionpolicybindings'];
const AUTHORS = ['mutatingadmissionpolicies', 'mutatingadmissionpolicybindings'];

// Its own control plane, because the definitions belong to the releases of this test.
let api: ControlPlane;
let helmPath: string;
let clusterScopedKinds: string;
let authors: boolean;
const operators: Program[] = [];

beforeAll(async () => {
  helmPath = join(await helmTools(), 'helm');
  api = await startControlPlane({ controllerManager: true });
  authors = await recordsAuthors(api);
  const kinds = ['clusterroles', 'clusterrolebindings', ...RULES, ...(authors ? AUTHORS : [])];
  clusterScopedKinds = kinds.join(',');
}, BUILD_TIMEOUT_MS);
afterAll(async () => {
  for (const operator of operators) operator.signalGroup('SIGKILL');
  await api.stop();
});

interface Answer {
  readonly code: number;
  readonly text: string;
}

async function tryHelm(args: readonly string[], values: object = {}): Promise<Answer> {
  const command = [helmPath, ...args, ...(['install', 'upgrade'].includes(args[0] ?? '') ? ['--values', '-'] : [])];
  const env = { KUBECONFIG: api.kubeconfigPath, HELM_CACHE_HOME: join(api.description.directory, 'helm') };
  const { code, stdout, stderr } = await runCommand(command, { env, input: JSON.stringify(values) });
  return { code, text: stdout + stderr };
}

async function helm(args: readonly string[], values: object = {}): Promise<void> {
  const { code, text } = await tryHelm(args, values);
  if (code !== 0) throw new Error(`\`helm ${args.join(' ')}\` exited with ${code}: ${text}`);
}

const engine = (namespace: string): object => ({ controllers: [`http://pinot-controller.pinot-${namespace}:9000`] });

/** Installs or upgrades the release of a namespace, by default from the tree. */
function deploy(namespace: string, values: object, chart = CHART, ...flags: string[]): Promise<void> {
  const where = ['--namespace', namespace, '--create-namespace', ...flags];
  return helm(['upgrade', '--install', NAME, chart, ...where], { engine: engine(namespace), ...values });
}

const WITHOUT_DEFINITIONS = { crds: { enabled: false } };

/** Cluster-scoped objects of olap-warden: version by kind and name. */
async function clusterScoped(): Promise<Map<string, string>> {
  const part = 'app.kubernetes.io/part-of=olap-warden';
  const { stdout } = await api.mustKubectl(['get', clusterScopedKinds, '-l', part, '-o', 'json']);
  const { items } = JSON.parse(stdout) as {
    items: { kind: string; metadata: { name: string; uid: string; resourceVersion: string } }[];
  };
  return new Map(items.map(({ kind, metadata }) => [`${kind} ${metadata.name}`, metadata.resourceVersion]));
}

const ofNamespace = (objects: ReadonlyMap<string, string>, namespace: string): ReadonlyMap<string, string> =>
  new Map([...objects].filter(([name]) => name.endsWith(`.${namespace}`)));

async function definitions(): Promise<string[]> {
  const { stdout } = await api.mustKubectl(['get', 'crd', '-l', 'app.kubernetes.io/part-of=olap-warden', '-o', 'name']);
  return stdout.trim().split('\n');
}

/** Starts the operator of a release with its account and its settings, as its pods would. */
async function startOperator(namespace: string): Promise<void> {
  const [port, metricsPort] = (await freePorts(2)) as [number, number];
  const { stdout } = await api.mustKubectl(['-n', namespace, 'get', 'configmap', NAME, '-o', 'json']);
  const { data } = JSON.parse(stdout) as { data: Record<string, string> };
  const file = join(api.description.directory, `${namespace}.yaml`);
  await writeFile(file, data['settings.yaml'] ?? '');
  const kubeconfig = await api.serviceAccountKubeconfig(namespace, `${NAME}-operator`);
  const ports = ['--host', '127.0.0.1', '--port', String(port), '--metrics-port', String(metricsPort)];
  const where = ['--config', file, '--kubeconfig', kubeconfig, '--namespace', namespace];
  const operator = new Program(process.execPath, ['src/main.ts', 'operator', ...ports, ...where], {
    cwd: join(import.meta.dirname, '../../..'),
    env: { PATH: process.env['PATH'] },
  });
  operators.push(operator);
}

/** The role of a namespace is reconciled by its operator. */
async function becomesReady(namespace: string, name: string): Promise<void> {
  await api.mustKubectl(['-n', namespace, 'apply', '-f', '-'], { input: JSON.stringify(role(name)) });
  await api.mustKubectl([
    ...['-n', namespace, 'wait', '--for=condition=Ready', KUBECTL_TIMEOUT, `roles.olapwarden.io/${name}`],
  ]);
}

/** What the API server says to a user of the release's ClusterRole `-admin`, without the verb `escalate`, who writes a policy. */
async function refusal(namespace: string): Promise<string> {
  const args = ['-n', namespace, '--as', 'carol', 'apply', '--dry-run=server', '-f', '-'];
  return (await api.kubectl(args, { input: JSON.stringify(policy('of-carol')) })).stderr;
}

async function bindCarol(namespace: string): Promise<void> {
  const clusterRole = `--clusterrole=${NAME}-admin.${namespace}`;
  await api.mustKubectl(['-n', namespace, 'create', 'rolebinding', 'carol', clusterRole, '--user=carol']);
}

// The steps depend on each other: from one release of the last version to two releases, of which one is deleted.
describe('two environments in one cluster', () => {
  it('the first is upgraded from the last release, without leftovers of its names', async () => {
    await deploy('one', {}, releasedChart());
    const before = await clusterScoped();
    expect(before.size).toBeGreaterThanOrEqual(authors ? 10 : 8);
    expect(ofNamespace(before, 'one').size).toBe(0);
    // As version 0.1 stored the hash of a token: the operator may read exactly this Secret, while it is there.
    await api.mustKubectl(['-n', 'one', 'create', 'secret', 'generic', 'job-hash']);
    await api.mustKubectl(['-n', 'one', 'label', 'secret', 'job-hash', 'olapwarden.io/part=service-token']);
    await deploy('one', {});
    const mayRead = async (secret: string): Promise<string> => {
      const as = `--as=system:serviceaccount:one:${NAME}-operator`;
      return (await api.kubectl(['-n', 'one', 'auth', 'can-i', 'get', `secrets/${secret}`, as])).stdout.trim();
    };
    expect([await mayRead('job-hash'), await mayRead('another')]).toEqual(['yes', 'no']);
    await api.mustKubectl(['-n', 'one', 'delete', 'secret', 'job-hash']);
    await deploy('one', {});
    expect(await mayRead('job-hash')).toBe('no');
    const after = await clusterScoped();
    expect(after.size).toBeGreaterThan(10);
    expect([...ofNamespace(after, 'one').keys()]).toEqual([...after.keys()]);
  });

  it('a second release does not take over the definitions of the first', async () => {
    const before = await clusterScoped();
    await expect(deploy('two', {})).rejects.toThrow(
      /CustomResourceDefinition .* cannot be imported into the current release/,
    );
    expect(await clusterScoped()).toEqual(before);
    await helm(['uninstall', NAME, '--namespace', 'two', '--ignore-not-found']);
    expect(await definitions()).toHaveLength(5);
  });

  it('the definitions move to their own chart, without a deletion', async () => {
    // The API server reads new versions of definitions for its admission policies every five seconds, and answers 503 before.
    await eventually(
      () => api.kubectl(['-n', 'one', 'apply', '-f', '-'], { input: JSON.stringify(role('kept')) }),
      ({ code }) => code === 0,
    );
    await deploy('one', WITHOUT_DEFINITIONS);
    expect(await definitions()).toHaveLength(5);
    const where = ['--namespace', 'olap-system', '--create-namespace'];
    await helm(['install', 'olap-warden-crds', CRDS_CHART, ...where, '--take-ownership']);
    await helm(['upgrade', 'olap-warden-crds', CRDS_CHART, ...where]);
    expect(await definitions()).toHaveLength(5);
    await api.mustKubectl(['-n', 'one', 'get', 'roles.olapwarden.io', 'kept']);
  });

  it('a release of the same name is installed in a second namespace', async () => {
    const first = ofNamespace(await clusterScoped(), 'one');
    await deploy('two', WITHOUT_DEFINITIONS);
    const all = await clusterScoped();
    expect(ofNamespace(all, 'one')).toEqual(first);
    const names = [...ofNamespace(all, 'two').keys()];
    expect(names).toEqual([...first.keys()].map((name) => name.replace(/one$/, 'two')));
    await Promise.all(['one', 'two'].map(startOperator));
    for (const namespace of ['one', 'two']) {
      await becomesReady(namespace, 'reader');
      await bindCarol(namespace);
      await eventually(
        () => refusal(namespace),
        (text) => text.includes(`${NAME}-escalate.${namespace}`),
      );
    }
  });

  it('a second release in the namespace of one is refused, and changes nothing', async () => {
    const before = await clusterScoped();
    const where = ['--namespace', 'two'];
    const values = { ...WITHOUT_DEFINITIONS, engine: engine('two') };
    await expect(helm(['install', 'other', CHART, ...where], values)).rejects.toThrow(
      'the namespace two has the release `olap-warden` of olap-warden already',
    );
    expect(await clusterScoped()).toEqual(before);
    expect((await api.mustKubectl(['-n', 'two', 'get', 'deployments', '-o', 'name'])).stdout.trim()).toBe(
      `deployment.apps/${NAME}-operator`,
    );
  });

  it('an upgrade of one changes no object of the other', async () => {
    for (const [changed, other] of [
      ['one', 'two'],
      ['two', 'one'],
    ] as const) {
      const before = ofNamespace(await clusterScoped(), other);
      await deploy(changed, { ...WITHOUT_DEFINITIONS, admission: { bind: false } });
      expect((await refusal(other)).includes(`${NAME}-escalate.${other}`)).toBe(true);
      await deploy(changed, WITHOUT_DEFINITIONS);
      expect(ofNamespace(await clusterScoped(), other)).toEqual(before);
    }
  });

  it('the second keeps its rules, rights and operator when the first is deleted', async () => {
    const second = ofNamespace(await clusterScoped(), 'two');
    await helm(['uninstall', NAME, '--namespace', 'one']);
    expect(await clusterScoped()).toEqual(second);
    await becomesReady('two', 'later');
    expect(await refusal('two')).toContain(`${NAME}-escalate.two`);
    // The custom resources of the first release stay.
    await api.mustKubectl(['-n', 'one', 'get', 'roles.olapwarden.io', 'kept']);
  });

  it('the definitions stay when their chart is deleted, and it can be installed again', async () => {
    const where = ['--namespace', 'olap-system'];
    await helm(['uninstall', 'olap-warden-crds', ...where]);
    expect(await definitions()).toHaveLength(5);
    await helm(['install', 'olap-warden-crds', CRDS_CHART, ...where]);
    await becomesReady('two', 'last');
  });
});

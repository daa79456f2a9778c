import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { helmTools } from '../../../tools/helm/render.ts';
import { startControlPlane, type ControlPlane } from '../../support/control-plane.ts';
import { commandsOf } from '../../support/documents/blocks.ts';
import { ROOT } from '../../support/documents/pages.ts';
import { blocksOf, shellBlock } from '../../support/documents/shell-blocks.ts';
import { DocumentShell } from '../../support/documents/shell.ts';
import { recordsAuthors } from '../../support/kubernetes/manifests.ts';
import { TEST_LIMIT_MS } from '../../support/limits.ts';
import { eventually } from '../../support/operator.ts';

// Runs the commands of the documentation that install, upgrade and remove, with helm and kubectl on a real kube-apiserver.
const OWN = 'test/integration/docs/install-commands.test.ts';
const PART = 'app.kubernetes.io/part-of=olap-warden';
const ENGINE = `--set engine.controllers='{http://pinot-controller.pinot:9000}'`;

describe('the commands of installation', () => {
  const ran = new Set<string>();
  // Its own control plane, because the commands install and delete cluster-scoped objects.
  let api: ControlPlane;
  let shell: DocumentShell;
  let authors: boolean;

  // The first use on a machine builds helm.
  beforeAll(async () => {
    const helm = join(await helmTools(), 'helm');
    api = await startControlPlane({ controllerManager: true });
    authors = await recordsAuthors(api);
    shell = await DocumentShell.create({
      cwd: ROOT,
      env: { KUBECONFIG: api.kubeconfigPath, HELM_CACHE_HOME: join(api.description.directory, 'helm') },
      // The further values of a command that the page leaves to its reader.
      places: { ' …': ` ${ENGINE}` },
      programs: {
        helm: `exec '${helm}' "$@"`,
        kubectl: `exec '${join(api.description.binaries, 'kubectl')}' "$@"`,
      },
    });
    // The command of the page names the file where kubectl has it.
    await mkdir(join(shell.folder, '.kube'));
    await copyFile(api.kubeconfigPath, join(shell.folder, '.kube/config'));
  }, TEST_LIMIT_MS);
  afterAll(async () => {
    await api?.stop();
    await shell?.remove();
  });

  /** Runs the commands of a block one by one. A definition is served a moment after helm has stored it, so kubectl may be run again. */
  async function paste(path: string, index = 0): Promise<string> {
    ran.add(`${path} ${index}`);
    const printed: string[] = [];
    for (const command of commandsOf(shellBlock(path, index))) {
      const again = command.startsWith('kubectl ') && !command.includes(' create ');
      const result = again
        ? await eventually(
            () => shell.run(command),
            ({ code }) => code === 0,
          )
        : await shell.run(command);
      expect(result, command).toMatchObject({ code: 0 });
      printed.push(result.stdout);
    }
    return printed.join('');
  }

  /** Runs a block with a text for kubectl (`<<'END'`) as a whole. */
  async function pasteWhole(path: string, index: number): Promise<string> {
    ran.add(`${path} ${index}`);
    const { stdout } = await eventually(
      () => shell.run(shellBlock(path, index).text),
      ({ code }) => code === 0,
    );
    return stdout;
  }

  async function releases(): Promise<string[]> {
    const { stdout } = await shell.run('helm list --all-namespaces --output json');
    return (JSON.parse(stdout) as { name: string; namespace: string }[])
      .map(({ name, namespace }) => `${namespace}/${name}`)
      .toSorted();
  }

  async function definitions(): Promise<number> {
    const { stdout } = await api.mustKubectl(['get', 'crd', '-l', PART, '-o', 'name']);
    return stdout.split('\n').filter(Boolean).length;
  }

  /** Removes every release. The definitions stay. */
  async function uninstall(): Promise<void> {
    for (const release of await releases()) {
      const [namespace = '', name = ''] = release.split('/');
      expect(await shell.run(`helm uninstall ${name} --namespace ${namespace}`)).toMatchObject({ code: 0 });
    }
  }

  async function deleteDefinitions(): Promise<void> {
    await eventually(
      async () => {
        await api.kubectl(['delete', 'crd', '-l', PART, '--wait=false']);
        return definitions();
      },
      (left) => left === 0,
    );
  }

  it('install several environments with a chart of the definitions', async () => {
    await paste('docs/install.md', 1);
    expect(await releases()).toEqual([
      'olap-production/olap-warden',
      'olap-staging/olap-warden',
      'olap-system/olap-warden-crds',
    ]);
    expect(await definitions()).toBe(5);
    await uninstall();
  });

  it('of the chart of the definitions install it and a release', async () => {
    await paste('charts/olap-warden-crds/README.md');
    expect(await releases()).toEqual(['olap-system/olap-warden-crds', 'olap/olap-warden']);
    await uninstall();
    await deleteDefinitions();
  });

  it('install a release for several clusters, each with its gateways', async () => {
    const printed = await paste('docs/install.md', 3);
    for (const service of ['olap-warden-orders', 'olap-warden-orders-gateway-peers', 'olap-warden-orders-metrics'])
      expect(printed).toContain(`${service} `);
    const { stdout } = await api.mustKubectl(['-n', 'olap', 'get', 'statefulsets,deployments', '-o', 'name']);
    expect(stdout.trim().split('\n').toSorted()).toEqual([
      'deployment.apps/olap-warden-operator',
      'statefulset.apps/olap-warden-gateway',
      'statefulset.apps/olap-warden-orders-gateway',
    ]);
    await uninstall();
    await deleteDefinitions();
  });

  it('of the guide install, create a first role, select the metrics and upgrade', async () => {
    const guide = 'docs/guides/on-kubernetes.md';
    await paste(guide, 0);
    const printed = await pasteWhole(guide, 2);
    for (const object of ['role.olapwarden.io/analysts', 'servicetoken.olapwarden.io/nightly-report'])
      expect(printed).toContain(`${object} created`);
    expect(await paste(guide, 4)).toMatch(/^ey[\w-]+\.[\w-]+\.[\w-]+$/m);
    await paste(guide, 6);
    const { stdout: values } = await shell.run('helm get values olap-warden --namespace olap --output json');
    expect(JSON.parse(values)).toMatchObject({ metrics: { alerts: { ruleLabels: { release: 'prometheus' } } } });
    await paste(guide, 7);
    await uninstall();
    await api.mustKubectl(['delete', 'namespace', 'olap', '--timeout=60s']);
    await deleteDefinitions();
  });

  it('of the guide install in front of a cluster, and close its ports', async () => {
    const guide = 'docs/guides/in-front-of-a-cluster.md';
    await api.mustKubectl(['create', 'namespace', 'pinot']);
    await paste(guide, 0);
    expect(await paste(guide, 1)).toContain('analysts');
    await paste(guide, 2);
    expect(await paste(guide, 3)).toContain('olap-warden');
    await paste(guide, 4);
    const { stdout } = await api.mustKubectl(['-n', 'pinot', 'get', 'networkpolicies', '-o', 'name']);
    expect(stdout.trim()).toBe('');
    await uninstall();
    await api.mustKubectl(['delete', 'namespace', 'olap', '--timeout=60s']);
    await deleteDefinitions();
  });

  it('are the same on all pages that install one release', () => {
    const [first] = commandsOf(shellBlock('README.md', 3));
    for (const path of ['docs/install.md', 'charts/olap-warden/README.head.md', 'charts/olap-warden/README.md']) {
      ran.add(`${path} 0`);
      expect(commandsOf(shellBlock(path, 0)), path).toEqual([first]);
    }
  });

  it('of README.md install a release and the samples', async () => {
    expect(await paste('README.md', 3)).toContain('analysts');
    expect(await releases()).toEqual(['olap/olap-warden']);
    expect(await definitions()).toBe(5);
  });

  it('sign in as a service account, with a token for the gateway alone', async () => {
    const page = await readFile(join(ROOT, 'docs/install.md'), 'utf8');
    const command = /`(kubectl -n olap create token admin[^`]*)`/.exec(page)?.[1] ?? '';
    await api.mustKubectl(['-n', 'olap', 'create', 'serviceaccount', 'admin']);
    const { code, stdout } = await shell.run(command);
    expect(code).toBe(0);
    const claims = JSON.parse(Buffer.from(stdout.split('.')[1] ?? '', 'base64url').toString()) as object;
    expect(claims).toMatchObject({ aud: ['olap-warden'], sub: 'system:serviceaccount:olap:admin' });
  });

  it('bind users to the ClusterRoles', async () => {
    await paste('docs/install.md', 4);
    const can = ['auth', 'can-i', '--as=you', '--as-group=platform', '-n', 'olap'];
    await eventually(
      () => api.kubectl([...can, 'create', 'policies.olapwarden.io']),
      ({ stdout }) => stdout.trim() === 'yes',
    );
    expect((await api.kubectl([...can, 'escalate', 'policies.olapwarden.io'])).stdout.trim()).toBe('yes');
  });

  it('move the definitions to their own chart, and keep the custom resources', async () => {
    await paste('docs/install.md', 2);
    expect(await releases()).toEqual(['olap-system/olap-warden-crds', 'olap/olap-warden']);
    await api.mustKubectl(['-n', 'olap', 'get', 'roles.olapwarden.io', 'analysts']);
  });

  it('delete the cluster-scoped objects with the old names, and no others', async ({ skip }) => {
    skip(!authors, 'the command names kinds that this API server does not have');
    const old = ['create', 'clusterrole', 'olap-warden-admin', '--verb=get', '--resource=pods'];
    await api.mustKubectl(old);
    await api.mustKubectl(['label', 'clusterrole', 'olap-warden-admin', PART]);
    const all = ['get', 'clusterroles,validatingadmissionpolicies', '-l', PART, '-o', 'name'];
    const before = (await api.mustKubectl(all)).stdout.split('\n');
    const printed = await paste('docs/install.md', 5);
    expect(printed).toContain('clusterrole.rbac.authorization.k8s.io "olap-warden-admin" deleted');
    const after = (await api.mustKubectl(all)).stdout.split('\n');
    expect(after).toEqual(before.filter((name) => !name.endsWith('/olap-warden-admin')));
  });

  it('remove everything', async () => {
    expect(await shell.run('helm uninstall olap-warden --namespace olap')).toMatchObject({ code: 0 });
    await paste('docs/install.md', 6);
    expect(await definitions()).toBe(0);
    expect((await api.kubectl(['get', 'namespace', 'olap'])).code).not.toBe(0);
  });

  it('are all run', () => {
    const assigned = blocksOf(OWN).map(({ path, index }) => `${path} ${index}`);
    expect([...ran].toSorted()).toEqual(
      assigned.filter((block) => authors || block !== 'docs/install.md 5').toSorted(),
    );
  });
});

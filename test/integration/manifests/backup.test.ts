import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KINDS } from '../../../src/resources/kinds.ts';
import { startControlPlane, type ControlPlane } from '../../support/control-plane.ts';
import { named, obstacle } from '../../support/documents/obstacle.ts';
import { applyManifests, recordsAuthors, WITHOUT_AUTHORS } from '../../support/kubernetes/manifests.ts';
import { KUBECTL_TIMEOUT } from '../../support/limits.ts';
import { eventually, runOperator, type RunningOperator } from '../../support/operator.ts';
import { execute } from '../../support/execute.ts';

const ROOT = join(import.meta.dirname, '../../..');
const MANIFESTS = join(ROOT, 'manifests');
const NAMESPACE = 'olap';
const ALL = Object.values(KINDS).map(({ plural }) => `${plural}.olapwarden.io`);
const NO_JQ = obstacle('jq', '--version');

interface Item {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: unknown;
}

/** The commands of docs/operations.md, run as they stand there. */
describe.skipIf(NO_JQ)(named('backup and restore', NO_JQ), () => {
  let api: ControlPlane;
  let operator: RunningOperator | undefined;
  let folder: string;
  let commands: string[];

  beforeAll(async () => {
    api = await startControlPlane({ controllerManager: true });
    await api.applyCrds();
    folder = await mkdtemp(join(tmpdir(), 'olap-warden-backup-'));
    const page = await readFile(join(ROOT, 'docs/operations.md'), 'utf8');
    const chapter = page.split('## Backup and restore')[1]!.split('\n## ')[0]!;
    commands = [...chapter.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text]) => text!);
    // The command `kubectl` of the tests.
    await writeFile(join(folder, 'kubectl'), `#!/bin/sh\nexec '${join(api.description.binaries, 'kubectl')}' "$@"\n`);
    await chmod(join(folder, 'kubectl'), 0o755);
  });
  afterAll(async () => {
    await operator?.stop();
    await api?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function install(): Promise<void> {
    await applyManifests(api, ['--server-side', '--force-conflicts', '-k', MANIFESTS]);
    for (const clusterRole of ['admin', 'delegation']) {
      const role = `--clusterrole=olap-warden-${clusterRole}.${NAMESPACE}`;
      await api.mustKubectl(['-n', NAMESPACE, 'create', 'rolebinding', clusterRole, role, '--user=ada']);
    }
    // Only the account of the operator may write the hashes of tokens.
    operator = runOperator(await api.serviceAccountKubeconfig(NAMESPACE, 'olap-warden-operator'), NAMESPACE);
  }

  /** Runs commands of the page until they succeed: rights and admission policies are in force a moment after they are stored. */
  async function paste(command: string, kubeconfig: string): Promise<void> {
    const env = { ...process.env, PATH: `${folder}:${process.env['PATH']}`, KUBECONFIG: kubeconfig };
    await eventually(
      async () => {
        try {
          await execute('sh', ['-ec', command], { cwd: folder, env });
          return '';
        } catch (error) {
          return String(error);
        }
      },
      (error) => error === '',
    );
  }

  async function items(): Promise<Item[]> {
    const { stdout } = await api.mustKubectl(['-n', NAMESPACE, 'get', ALL.join(','), '-o', 'json']);
    return (JSON.parse(stdout) as { items: Item[] }).items;
  }

  const essence = (all: readonly Item[]): unknown =>
    Object.fromEntries(all.map(({ kind, metadata, spec }) => [`${kind} ${metadata.name}`, spec]));

  async function secret(): Promise<string> {
    const args = ['-n', NAMESPACE, 'get', 'secret', 'ingestion-job-token', '-o', 'jsonpath={.data.secretKey}'];
    const read = await eventually(
      () => api.kubectl(args),
      ({ code, stdout }) => code === 0 && stdout !== '',
    );
    return read.stdout;
  }

  it('brings back every grant after the namespace was lost, and service tokens with new secrets', async () => {
    await install();
    const ada = await api.kubeconfig('ada');
    await paste(`kubectl -n ${NAMESPACE} apply --server-side -f ${MANIFESTS}/samples`, ada);
    const ready = ['--for=condition=Ready', 'roleassignments.olapwarden.io', '--all', KUBECTL_TIMEOUT];
    await api.mustKubectl(['-n', NAMESPACE, 'wait', ...ready]);
    const before = await items();
    const lost = await secret();

    await paste(commands[0]!, ada);
    await operator!.stop();
    await api.mustKubectl(['delete', 'namespace', NAMESPACE, KUBECTL_TIMEOUT]);
    await api.mustKubectl(['create', 'namespace', NAMESPACE]);
    await install();
    await paste(commands[1]!, ada);
    await api.mustKubectl(['-n', NAMESPACE, 'wait', ...ready]);

    expect(before.length).toBeGreaterThan(15);
    expect(essence(await items())).toEqual(essence(before));
    expect(await secret()).not.toBe(lost);
    // A second time changes nothing.
    await paste(commands[1]!, ada);
    expect(essence(await items())).toEqual(essence(before));
  });

  it('names the user who restored as the author', async ({ skip }) => {
    skip(!(await recordsAuthors(api)), WITHOUT_AUTHORS);
    const analysts = (await items()).find(({ kind, metadata }) => kind === 'Role' && metadata.name === 'analysts');
    expect(analysts?.metadata.annotations?.['olapwarden.io/created-by']).toContain('ada');
  });
});

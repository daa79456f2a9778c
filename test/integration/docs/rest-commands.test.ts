import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedControlPlane, type ControlPlaneClient } from '../../support/control-plane.ts';
import { BLOCKS } from '../../support/documents/blocks.ts';
import { named, NO_CURL } from '../../support/documents/obstacle.ts';
import { ROOT } from '../../support/documents/pages.ts';
import { commandsWithOutput, patternOf, withoutSpace } from '../../support/documents/printed.ts';
import { blocksOf, shellBlock } from '../../support/documents/shell-blocks.ts';
import { DocumentShell, FAILING_CURL } from '../../support/documents/shell.ts';
import { KUBECTL_TIMEOUT, WAIT_LIMIT_MS } from '../../support/limits.ts';
import { runOperator, type RunningOperator } from '../../support/operator.ts';
import { sharedPinot } from '../../support/pinot.ts';
import { Program } from '../../support/processes.ts';
import { startStandalone, type Standalone } from '../../support/service.ts';

// Runs the commands of the documentation that need a gateway with a real Pinot, or resources on a real kube-apiserver.
const OWN = 'test/integration/docs/rest-commands.test.ts';
const OLAP_WARDEN = `'${process.execPath}' '${join(ROOT, 'bin/olap-warden.js')}' "$@"`;

describe.skipIf(NO_CURL)(named('the commands of the documentation', NO_CURL), () => {
  const ran = new Set<string>();
  let gateway: Standalone;
  let api: ControlPlaneClient;
  let namespace: string;
  let kubeconfig: string;
  let operator: RunningOperator;
  let shell: DocumentShell;

  beforeAll(async () => {
    const pinot = await sharedPinot();
    gateway = await startStandalone({ controllers: pinot.controllerUrl });
    api = await sharedControlPlane();
    await api.applyCrds();
    namespace = await api.createNamespace('documents');
    kubeconfig = await api.kubeconfig('reader', ['system:masters'], { namespace });
    operator = runOperator(api.kubeconfigPath, namespace);
    shell = await DocumentShell.create({
      env: { GATEWAY: gateway.url, TOKEN: gateway.token, KUBECONFIG: kubeconfig },
      places: {
        'http://gateway:8080': gateway.url,
        'https://olap.example.com': gateway.url,
        'http://pinot-controller:9000': pinot.controllerUrl,
      },
      programs: {
        curl: FAILING_CURL,
        kubectl: `exec '${join(api.description.binaries, 'kubectl')}' "$@"`,
        // The exit code 1 of a check says that the cluster has faults, which depends on the tables of other tests.
        'olap-warden': `${OLAP_WARDEN} || { code=$?; [[ $1 = check && $code = 1 ]]; }`,
        npx: 'shift; exec olap-warden "$@"',
      },
    });
  });
  afterAll(async () => {
    await operator?.stop();
    await gateway?.stop();
    await shell?.remove();
  });

  function block(path: string, index = 0): string {
    ran.add(`${path} ${index}`);
    return shellBlock(path, index).text;
  }

  async function succeeds(commands: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
    const result = await shell.run(commands, env);
    expect(result, commands).toMatchObject({ code: 0 });
    return result.stdout;
  }

  async function rbac<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await gateway.call(method, `/api/v1/rbac-manager${path}`, body);
    expect([path, answer.status]).toEqual([path, 200]);
    return (await answer.json()) as T;
  }

  /** A token that may query the table `customers` only. */
  async function customersOnly(): Promise<Record<string, string>> {
    const statements = [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#customers'] }];
    await rbac('POST', '/policies', { name: 'customers', policyDocument: { version: 'v1', statements } });
    await rbac('POST', '/roles', { name: 'customers', description: 'reads customers' });
    await rbac('POST', '/roles/srn2:role%23customers/attach-policy', { policySrn: 'srn2:policy#customers' });
    const token = await rbac<{ accessKey: string; secretKey: string }>('POST', '/service-tokens', { description: 'x' });
    const assignment = { subject: token.accessKey, subjectType: 'service-token' };
    await rbac('POST', '/roles/srn2:role%23customers/create-assignment', assignment);
    return { ACCESS_KEY: token.accessKey, SECRET_KEY: token.secretKey };
  }

  /** The number of checks in a printed report; how many of them pass depends on the cluster. */
  function checksIn(text: string): number {
    const [, passed = 0, failed = 0] = /(\d+) passed, (\d+) failed/.exec(text) ?? [];
    return Number(passed) + Number(failed);
  }

  it('of README.md print what it shows', async () => {
    const env = await customersOnly();
    const commands = commandsWithOutput(block('README.md'));
    expect(commands).toHaveLength(3);
    for (const { command, output } of commands) {
      expect(output).not.toBe('');
      const { stdout } = await shell.run(command, env);
      expect(withoutSpace(stdout), command).toMatch(patternOf(output));
      expect(checksIn(output), command).toBe(checksIn(stdout));
    }
  });

  it('of docs/rbac.md give a part of a table, and show it', async () => {
    const printed = await succeeds(block('docs/rbac.md', 0));
    const shown = BLOCKS.find(({ path, text }) => path === 'docs/rbac.md' && text.includes('"CONDITIONAL"'));
    const answer: unknown = JSON.parse(printed.slice(printed.indexOf('{"principal"')));
    expect(answer).toMatchObject(JSON.parse(shown?.text ?? '') as object);
  });

  it('of docs/rbac.md create a role and assign it, then for a time', async () => {
    await succeeds(`${block('docs/rbac.md', 1)}\n${block('docs/rbac.md', 3)}`);
    const assignments = await rbac<unknown[]>('GET', '/roles/srn2:role%23analysts/assignments');
    const ada = { subject: 'ada@example.com', subjectType: 'user-email', expiresAt: '2030-01-31T18:00:00+01:00' };
    expect(assignments).toEqual([expect.objectContaining(ada)]);
  });

  it('of docs/rbac.md rotate the secret of a token', async () => {
    const token = await rbac<{ accessKey: string; bearerToken: string }>('POST', '/service-tokens', {
      description: 'x',
    });
    const rotate = block('docs/rbac.md', 2).replace('a1b2c3d4e5f6g7h8', token.accessKey);
    const printed = await succeeds(rotate, {
      URL: `${gateway.url}/api/v1/rbac-manager`,
      AUTH: `Authorization: Bearer ${gateway.token}`,
    });
    const { bearerToken } = JSON.parse(printed) as { bearerToken: string };
    expect(bearerToken).toMatch(new RegExp(`^svc-${token.accessKey}-`));
    expect(bearerToken).not.toBe(token.bearerToken);
  });

  it('of docs/paginated-queries.md download a result', async () => {
    const sql = 'SELECT orderId, city FROM orders LIMIT 20000';
    const answer = await gateway.call('POST', '/query/sql?doPaginate=true', { sql });
    const { requestId } = (await answer.json()) as { requestId: string };
    await succeeds(block('docs/paginated-queries.md'), { id: requestId });
    expect((await succeeds('head -1 orders.csv')).trim()).toBe('orderId,city');
    await gateway.call('DELETE', `/query/resultStore/${requestId}`);
  });

  describe('on custom resources', () => {
    const PAGES = ['policy', 'role', 'roleassignment', 'servicetoken', 'clusterhealthreport'].map(
      (name) => `docs/resources/${name}.md`,
    );

    it('succeed with the manifests of their pages', { timeout: 5 * WAIT_LIMIT_MS }, async () => {
      const manifests = BLOCKS.filter(
        ({ path, language, text }) => PAGES.includes(path) && language === 'yaml' && text.startsWith('apiVersion:'),
      );
      expect(new Set(manifests.map(({ path }) => path)).size).toBe(PAGES.length);
      await api.mustKubectl(['-n', namespace, 'apply', '-f', join(ROOT, 'manifests/samples')]);
      for (const { text } of manifests) {
        await api.mustKubectl(['-n', namespace, 'apply', '-f', '-'], { input: text });
      }
      for (const kind of ['roles', 'policies', 'roleassignments', 'clusterhealthreports']) {
        const all = [`${kind}.olapwarden.io`, '--all', '--for=condition=Ready', KUBECTL_TIMEOUT];
        await api.mustKubectl(['-n', namespace, 'wait', ...all]);
      }
      for (const { path, index } of blocksOf(OWN).filter(({ path: page }) => PAGES.includes(page))) {
        const printed = await succeeds(block(path, index));
        expect(printed, path).not.toBe('');
      }
    });

    it('and on checks succeed', { timeout: 5 * WAIT_LIMIT_MS }, async () => {
      const report = BLOCKS.find(
        ({ path, language }) => path === 'docs/resources/clusterhealthreport.md' && language === 'yaml',
      );
      await writeFile(join(shell.folder, 'report.yaml'), report!.text);
      const printed = await succeeds(block('docs/checks/README.md'));
      expect(printed).toContain('"healthCheckResult"');
      expect(printed).toContain('clusterhealthreport.olapwarden.io/cluster annotated');
      expect(printed.match(/\d+ passed/g)).toHaveLength(2);
    });

    it('start an operator with a webhook', async () => {
      const file = join(shell.folder, 'webhook-token');
      await writeFile(file, 'a-token\n');
      const command = block('docs/operations.md', 2).trim().replace('/var/run/secrets/webhook/token', file);
      const flags = ['--host=127.0.0.1', '--metrics-port=0', `--kubeconfig=${kubeconfig}`, `--namespace=${namespace}`];
      const all = [...command.split(' ').slice(1), ...flags, '--controllers=http://127.0.0.1:9'];
      const program = new Program(process.execPath, [join(ROOT, 'bin/olap-warden.js'), ...all], {
        cwd: shell.folder,
        env: { PATH: process.env['PATH'] },
      });
      try {
        await program.printed('"msg":"started"', WAIT_LIMIT_MS);
      } finally {
        program.signalGroup('SIGTERM');
      }
      expect(await program.exited, program.output).toBe(0);
    });
  });

  it('are all run', () => {
    const assigned = blocksOf(OWN).map(({ path, index }) => `${path} ${index}`);
    expect([...ran].toSorted()).toEqual(assigned.toSorted());
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Directory } from '../../../src/access/directory.ts';
import { tableResource } from '../../../src/access/policy/srn.ts';
import type { Principal } from '../../../src/access/principal.ts';
import { tableNameOf } from '../../../src/pinot/table-name.ts';
import type { Policy } from '../../../src/resources/kinds.ts';
import { policy, role, roleAssignment, statement } from '../../builders/resources.ts';
import { sharedControlPlane, type ControlPlaneClient } from '../../support/control-plane.ts';
import { KUBECTL_TIMEOUT } from '../../support/limits.ts';
import { eventually, runOperator, type RunningOperator } from '../../support/operator.ts';

const ADA: Principal = {
  kind: 'user',
  srn: 'srn2:user#ada@example.com',
  id: 'ada@example.com',
  groups: [],
  domain: 'example.com',
  authenticator: 'test',
};
const EVENTS = tableResource(tableNameOf('events'));

let api: ControlPlaneClient;
let namespace: string;
let running: RunningOperator;
let directory: Directory;
/** Of the table `events`. */
let columns = ['owner', 'a'];

beforeAll(async () => {
  api = await sharedControlPlane();
  await api.applyCrds();
  namespace = await api.createNamespace('conditions');
  running = runOperator(api.kubeconfigPath, namespace, {
    policyNames: {
      deployment: { environment: 'olap', cluster: 'pinot' },
      tableNames: () => ['events'],
      schemas: { tableNames: async () => ['events'], columnsOf: async () => new Set(columns) },
    },
  });
  directory = new Directory(running.store, { environment: 'olap', cluster: 'pinot' });
});
afterAll(async () => {
  directory.close();
  await running.stop();
});

async function apply(...objects: object[]): Promise<void> {
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
  await api.mustKubectl(['-n', namespace, 'apply', '-f', '-'], { input });
}

const withFilter = (filter: string): Policy =>
  policy('part', { statements: [statement({ conditions: { rowFilters: [filter] } })] });

const readingOf = (wanted: boolean) =>
  eventually(
    () => directory.reading(ADA, EVENTS),
    ({ allowed }) => allowed === wanted,
  );

describe('a policy with conditions, by kubectl', () => {
  it('is enforced, and denies everything with the reason in its status while a filter cannot be parsed', async () => {
    await apply(
      withFilter('owner = ${subject.email}'),
      role('readers', { policies: ['part'] }),
      roleAssignment('readers', { role: 'readers', subjects: [{ type: 'user-email', name: ADA.id }] }),
    );
    const kubectl = (...args: string[]) => api.mustKubectl(['-n', namespace, ...args]);
    await kubectl('wait', '--for=condition=Ready', KUBECTL_TIMEOUT, 'opolicy/part');
    const reading = await readingOf(true);
    expect(reading.allowed && reading.conditions?.key).toContain('ada@example.com');

    await apply(withFilter('owner = \nlookUp(name)'));
    await kubectl('wait', '--for=condition=Ready=False', KUBECTL_TIMEOUT, 'opolicy/part');
    const { stdout } = await kubectl('get', 'opolicy', 'part', '-o', 'json');
    const ready = (JSON.parse(stdout) as Policy).status?.conditions?.find(({ type }) => type === 'Ready');
    expect(ready).toMatchObject({
      reason: 'InvalidPolicy',
      message: expect.stringMatching(
        /denies everything: statements\[0\]\.conditions\.rowFilters\[0\]: line 2, column 1: `lookUp` is not a function/,
      ),
    });
    await readingOf(false);
    expect(directory.decide(ADA, 'Query', EVENTS).reason).toBe('invalidPolicy');
  });

  it('is Stalled while no table has its columns, and recovers with the schema', async () => {
    const kubectl = (...args: string[]) => api.mustKubectl(['-n', namespace, ...args]);
    const object = 'opolicy/columns';
    const one = (filter: string) =>
      policy('columns', { statements: [statement({ conditions: { rowFilters: [filter] } })] });
    await apply(one('ownr = 1'));
    await kubectl('wait', '--for=condition=Stalled', KUBECTL_TIMEOUT, object);
    const { stdout } = await kubectl('get', object, '-o', 'json');
    expect((JSON.parse(stdout) as Policy).status?.conditions).toMatchObject([
      { type: 'Ready', status: 'False', reason: 'ColumnNotFound' },
      {
        type: 'Stalled',
        status: 'True',
        reason: 'ColumnNotFound',
        message: expect.stringContaining('the column `ownr` does not exist in `events`; did you mean `owner`?'),
      },
    ]);
    columns = ['ownr'];
    // Any event of the object is a reason to compare it again.
    await kubectl('annotate', object, 'example.com/again=1');
    await kubectl('wait', '--for=condition=Ready', KUBECTL_TIMEOUT, object);
    columns = ['owner', 'a'];
  });

  it.each([
    ['conditions', null],
    ['conditions.rowFilters', { rowFilters: null, columns: { deny: ['a'] } }],
    ['conditions.columns', { rowFilters: ['a = 1'], columns: null }],
    ['conditions.columns.mask', { columns: { deny: ['a'], mask: null } }],
  ])('denies everything while %s is null, as a template without its value gives it', async (field, conditions) => {
    const name = `null-${field.toLowerCase()}`;
    // A client-side `kubectl apply` sends no null.
    const input = JSON.stringify(policy(name, { statements: [Object.assign(statement(), { conditions })] }));
    await api.mustKubectl(['-n', namespace, 'create', '-f', '-'], { input });
    const object = `opolicy/${name}`;
    await api.mustKubectl(['-n', namespace, 'wait', '--for=condition=Ready=False', KUBECTL_TIMEOUT, object]);
    const stored = running.store.get('Policy', name);
    expect(stored?.status?.conditions?.find(({ type }) => type === 'Ready')?.message).toContain(
      `statements[0].${field}: \`null\` is null, but must be`,
    );
    await apply(role('readers', { policies: [name] }));
    await eventually(
      () => directory.decide(ADA, 'Query', EVENTS).reason,
      (reason) => reason === 'invalidPolicy',
    );
  });

  it('is not stored without a field that the API server does not know', async () => {
    const unknown = { ...statement(), conditionsOfALaterVersion: { rows: 'none' } };
    const created = running.store.create('Policy', policy('later', { statements: [unknown] }));
    await expect(created).rejects.toThrow(/conditionsOfALaterVersion/);
    expect(await running.store.read('Policy', 'later')).toBeUndefined();
  });
});

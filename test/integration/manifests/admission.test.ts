import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CUSTOM_KINDS, KINDS, type CustomKind } from '../../../src/resources/kinds.ts';
import {
  clusterHealthReport,
  policy,
  role,
  roleAssignment,
  serviceToken,
  withAnnotations,
} from '../../builders/resources.ts';
import { startControlPlane, type CommandResult, type ControlPlane } from '../../support/control-plane.ts';
import { eventually } from '../../support/operator.ts';

const MANIFESTS = join(import.meta.dirname, '../../../manifests');
const CREATED = 'olapwarden.io/created-by';
const UPDATED = 'olapwarden.io/last-updated-by';
const UPDATED_AT = 'olapwarden.io/last-updated-at';

// Its own control plane: the rules hold for the whole cluster, and the tests of others would run into them.
let api: ControlPlane;
let alice: string;
let bob: string;
let gateway: string;
const namespace = 'olap';

beforeAll(async () => {
  api = await startControlPlane({ controllerManager: true });
  await api.applyCrds();
  await api.mustKubectl(['create', 'namespace', namespace]);
  gateway = await api.serviceAccountKubeconfig(namespace, 'olap-warden-gateway');
  await api.mustKubectl(['apply', '--server-side', '-k', MANIFESTS]);
  [alice, bob] = [await api.kubeconfig('alice'), await api.kubeconfig('bob')];
  for (const user of ['alice', 'bob']) {
    await api.mustKubectl(['-n', namespace, 'create', 'rolebinding', user, '--clusterrole=admin', `--user=${user}`]);
  }
  // Rules and aggregated roles reach the API server's memory a moment after they are stored.
  await eventually(
    () => admitted(alice, role('probe'), '--dry-run=server'),
    (text) => text.includes(CREATED),
  );
  for (const [held, resource, name] of [
    [policy('probe-held'), 'policies.olapwarden.io', 'probe-held'],
    [role('probe-given'), 'roles.olapwarden.io', 'probe-given'],
  ] as const) {
    await admitted(alice, held);
    await admitted(alice, role('probe-holder', { policies: ['probe-held'] }));
    await admitted(alice, roleAssignment('probe-holder', { role: 'probe-given' }));
    await eventually(
      () => kubectl(alice, 'delete', resource, name, '--dry-run=server'),
      ({ code }) => code !== 0,
    );
  }
});
afterAll(() => api.stop());

function kubectl(as: string, ...args: string[]): Promise<CommandResult> {
  return api.kubectl(['-n', namespace, ...args], { kubeconfig: as });
}

/** What became of an object that somebody applied: its JSON, or the refusal. The gateway may not read what it does not list. */
async function admitted(as: string, object: object, ...args: string[]): Promise<string> {
  const verb = as === gateway ? 'create' : 'apply';
  const { code, stdout, stderr } = await api.kubectl(['-n', namespace, verb, '-o', 'json', ...args, '-f', '-'], {
    kubeconfig: as,
    input: JSON.stringify(object),
  });
  return code === 0 ? stdout : stderr;
}

async function annotations(kind: CustomKind, name: string): Promise<Record<string, string>> {
  const resource = `${KINDS[kind].plural}.olapwarden.io`;
  const { stdout } = await kubectl(alice, 'get', resource, name, '-o', 'jsonpath={.metadata.annotations}');
  return JSON.parse(stdout) as Record<string, string>;
}

describe('authors', () => {
  const forged = { [CREATED]: 'somebody', [UPDATED]: 'somebody', [UPDATED_AT]: '1999-01-01T00:00:00Z' };

  it('are set on every kind, whatever the client sent', async () => {
    const objects = [
      policy('authored', {}, withAnnotations(forged)),
      role('authored', {}, withAnnotations(forged)),
      roleAssignment('authored', {}, withAnnotations(forged)),
      serviceToken('authored', {}, withAnnotations(forged)),
      clusterHealthReport('authored', {}),
    ];
    for (const object of objects) {
      await admitted(alice, object);
      const found = await annotations(object.kind, 'authored');
      expect(found, object.kind).toMatchObject({ [CREATED]: 'alice', [UPDATED]: 'alice' });
      expect(found, object.kind).not.toHaveProperty([UPDATED_AT]);
    }
    expect(objects.map(({ kind }) => kind)).toEqual(CUSTOM_KINDS);
  });

  it('of the creation are kept, those of the last change follow the spec', async () => {
    await admitted(alice, role('edited'));
    await admitted(bob, role('edited', { description: 'new' }, withAnnotations(forged)));
    expect(await annotations('Role', 'edited')).toMatchObject({ [CREATED]: 'alice', [UPDATED]: 'bob' });
    await kubectl(alice, 'label', 'roles.olapwarden.io', 'edited', 'team=data');
    await kubectl(alice, 'annotate', '--overwrite', 'roles.olapwarden.io', 'edited', `${CREATED}=x`, `${UPDATED}=x`);
    expect(await annotations('Role', 'edited')).toMatchObject({ [CREATED]: 'alice', [UPDATED]: 'bob' });
  });

  it('are set on a role whose last policy is removed by server-side apply, which then sends no spec', async () => {
    const serverSide = ['--server-side', '--force-conflicts'];
    await admitted(alice, role('emptied', { policies: ['probe-held'] }), ...serverSide);
    const emptied = await admitted(bob, role('emptied', { policies: [] }), ...serverSide, '--field-manager=kubectl');
    expect(JSON.parse(emptied)).toMatchObject({ spec: {}, metadata: { annotations: { [UPDATED]: 'bob' } } });
  });

  it('are unknown for objects created before the rule', async () => {
    const untouched = role('older', {}, withAnnotations({ [UPDATED_AT]: '2026-01-01T00:00:00Z' }));
    await admitted(gateway, untouched);
    await kubectl(alice, 'label', 'roles.olapwarden.io', 'older', 'team=data');
    const found = await annotations('Role', 'older');
    expect(found).toMatchObject({ [CREATED]: 'unknown', [UPDATED_AT]: '2026-01-01T00:00:00Z' });
    expect(found).not.toHaveProperty([UPDATED]);
  });

  it('of REST requests are set by the gateway, but not by a service account with its name in another namespace', async () => {
    const rest = { [CREATED]: 'srn2:user#ada', [UPDATED]: 'srn2:user#ada', [UPDATED_AT]: '2026-01-01T00:00:00Z' };
    await admitted(gateway, role('by-rest', {}, withAnnotations(rest)));
    expect(await annotations('Role', 'by-rest')).toMatchObject(rest);
    const other = await api.createNamespace('other');
    const namesake = await api.serviceAccountKubeconfig(other, 'olap-warden-gateway');
    const user = `system:serviceaccount:${other}:olap-warden-gateway`;
    await api.mustKubectl([
      '-n',
      namespace,
      'create',
      'rolebinding',
      'namesake',
      '--clusterrole=admin',
      `--user=${user}`,
    ]);
    await eventually(
      () => admitted(namesake, role('by-namesake', {}, withAnnotations(rest))),
      (text) => !text.includes('forbidden'),
    );
    expect(await annotations('Role', 'by-namesake')).toMatchObject({ [CREATED]: user });
  });
});

describe('an object in use', () => {
  it('cannot be deleted, with the message of the REST API', async () => {
    await admitted(alice, policy('held'));
    await admitted(alice, role('holder', { policies: ['held'] }));
    await admitted(alice, roleAssignment('giver', { role: 'holder' }));
    const refusals: [string, string, string][] = [
      ['policies', 'held', 'policy `held` is attached to role `holder`: detach it first'],
      ['roles', 'holder', 'role `holder` is assigned by role assignment `giver`: delete the assignment first'],
    ];
    for (const [resource, name, message] of refusals) {
      const refused = await eventually(
        () => kubectl(alice, 'delete', `${resource}.olapwarden.io`, name, '--dry-run=server'),
        ({ code }) => code !== 0,
      );
      expect(refused.stderr).toContain(message);
    }
    for (const object of ['roleassignments/giver', 'roles/holder', 'policies/held']) {
      const [resource, name] = object.split('/') as [string, string];
      // The parameters are a moment behind what was just deleted.
      await eventually(
        () => kubectl(alice, 'delete', `${resource}.olapwarden.io`, name),
        ({ code }) => code === 0,
      );
    }
  });

  it('can be deleted by the gateway, which checks that itself', async () => {
    await admitted(alice, policy('held-too'));
    await admitted(alice, role('holder-too', { policies: ['held-too'] }));
    await eventually(
      () => kubectl(alice, 'delete', 'policies.olapwarden.io', 'held-too', '--dry-run=server'),
      ({ code }) => code !== 0,
    );
    const gone = await kubectl(gateway, 'delete', '--wait=false', 'policies.olapwarden.io', 'held-too');
    expect(gone.stderr).toBe('');
  });
});

describe('rights added to view, edit and admin', () => {
  it.each([
    ['view', 'get', 'policies', 'yes'],
    ['view', 'update', 'clusterhealthreports', 'no'],
    ['edit', 'update', 'clusterhealthreports', 'yes'],
    ['edit', 'create', 'roleassignments', 'no'],
    ['edit', 'create', 'servicetokens', 'no'],
    ['admin', 'create', 'roleassignments', 'yes'],
    ['admin', 'delete', 'servicetokens', 'yes'],
  ])('%s may %s %s: %s', async (clusterRole, verb, resource, answer) => {
    const user = `${clusterRole}-user`;
    await api.kubectl([
      '-n',
      namespace,
      'create',
      'rolebinding',
      user,
      `--clusterrole=${clusterRole}`,
      `--user=${user}`,
    ]);
    const asked = await api.kubectl([
      '-n',
      namespace,
      'auth',
      'can-i',
      verb,
      `${resource}.olapwarden.io`,
      '--as',
      user,
    ]);
    expect(asked.stdout.trim()).toBe(answer);
  });
});

describe('with the rules against escalation', () => {
  beforeAll(async () => {
    await api.mustKubectl(['apply', '-f', join(MANIFESTS, 'admission/escalation.yaml')]);
    for (const refused of [role('probe', { policies: ['x'] }), roleAssignment('probe'), allOnAll('probe')]) {
      await eventually(
        () => admitted(alice, refused, '--dry-run=server'),
        (text) => text.includes('you may not'),
      );
    }
  });

  const allOnAll = (name: string): object => policy(name, { statements: [{ effect: 'allow', resources: ['*'] }] });

  async function grant(verb: string, resource: string, name: string): Promise<void> {
    const right = `${verb}-${resource}-${name}`;
    const rules = [{ apiGroups: ['olapwarden.io'], resources: [resource], resourceNames: [name], verbs: [verb] }];
    const granted = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name: right }, rules };
    await api.mustKubectl(['-n', namespace, 'apply', '-f', '-'], { input: JSON.stringify(granted) });
    await api.mustKubectl(['-n', namespace, 'create', 'rolebinding', right, `--role=${right}`, '--user=alice']);
  }

  it('adding a policy to a role requires the right to bind it; its present policies are not checked', async () => {
    await admitted(gateway, role('grown', { policies: ['there-before'] }));
    const refusal =
      'you may not attach all of `wanted`: you need the verb bind on each of these policies.olapwarden.io';
    const grown = role('grown', { policies: ['there-before', 'wanted'] });
    expect(await admitted(alice, grown)).toContain(refusal);
    expect(await admitted(alice, role('grown', { policies: ['there-before'], description: 'x' }))).toContain(
      '"kind": "Role"',
    );
    await grant('bind', 'policies', 'wanted');
    await eventually(
      () => admitted(alice, grown),
      (text) => text.includes('"kind": "Role"'),
    );
  });

  it('adding a subject to a role requires the right to assign it; removing one does not', async () => {
    const people = (...names: string[]) => names.map((name) => ({ type: 'user-email' as const, name }));
    await admitted(gateway, roleAssignment('given', { role: 'wanted', subjects: people('a', 'b') }));
    const more = roleAssignment('given', { role: 'wanted', subjects: people('a', 'b', 'alice') });
    const refusal = 'you may not assign role `wanted`: you need the verb assign on roles.olapwarden.io `wanted`';
    expect(await admitted(alice, more)).toContain(refusal);
    expect(await admitted(alice, roleAssignment('given', { role: 'wanted', subjects: people('a') }))).toContain(
      '"RoleAssignment"',
    );
    await grant('assign', 'roles', 'wanted');
    await eventually(
      () => admitted(alice, more),
      (text) => text.includes('"kind": "RoleAssignment"'),
    );
  });

  it('writing a policy that allows everything requires the right to bind system-admin', async () => {
    const refusal = 'you may not write a policy that allows everything on everything';
    expect(await admitted(alice, allOnAll('mine'))).toContain(refusal);
    expect(
      await admitted(alice, policy('mine', { statements: [{ effect: 'allow', actions: ['**'], resources: ['*'] }] })),
    ).toContain(refusal);
    expect(await admitted(alice, policy('mine', { statements: [{ effect: 'deny', resources: ['*'] }] }))).toContain(
      '"Policy"',
    );
    await grant('bind', 'policies', 'system-admin');
    await eventually(
      () => admitted(alice, allOnAll('mine')),
      (text) => text.includes('"kind": "Policy"'),
    );
  });
});

// Last: it is the namespace that the rules hold in.
describe('the deletion of a namespace', () => {
  it('is never blocked', async () => {
    const objects = [
      policy('p'),
      role('r', { policies: ['p'] }),
      roleAssignment('a', { role: 'r' }),
      serviceToken('t'),
    ];
    for (const object of objects) {
      await api.mustKubectl(['-n', namespace, 'apply', '-f', '-'], { input: JSON.stringify(object) });
    }
    await eventually(
      () => kubectl(alice, 'delete', 'policies.olapwarden.io', 'p', '--dry-run=server'),
      ({ code }) => code !== 0,
    );
    await api.mustKubectl(['delete', 'namespace', namespace, '--timeout=60s']);
    expect((await api.kubectl(['get', 'namespace', namespace])).stderr).toContain('not found');
  });
});

import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
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
import { applyManifests, recordsAuthors, WITHOUT_AUTHORS } from '../../support/kubernetes/manifests.ts';
import { eventually } from '../../support/operator.ts';
import { helmTools } from '../../../tools/helm/render.ts';
import { KUBECTL_TIMEOUT } from '../../support/limits.ts';
import { execute as run } from '../../support/execute.ts';

const MANIFESTS = join(import.meta.dirname, '../../../manifests');
const CREATED = 'olapwarden.io/created-by';
const UPDATED = 'olapwarden.io/last-updated-by';
const UPDATED_AT = 'olapwarden.io/last-updated-at';

// Its own control plane, because the rules are cluster-scoped and would affect other tests.
let api: ControlPlane;
let alice: string;
let bob: string;
let carol: string;
let gateway: string;
let authors: boolean;
const namespace = 'olap';

beforeAll(async () => {
  api = await startControlPlane({ controllerManager: true });
  await api.applyCrds();
  await api.mustKubectl(['create', 'namespace', namespace]);
  gateway = await api.serviceAccountKubeconfig(namespace, 'olap-warden-gateway');
  await applyManifests(api);
  authors = await recordsAuthors(api);
  [alice, bob, carol] = [await api.kubeconfig('alice'), await api.kubeconfig('bob'), await api.kubeconfig('carol')];
  for (const user of ['alice', 'bob', 'carol']) {
    await api.mustKubectl([
      '-n',
      namespace,
      'create',
      'rolebinding',
      user,
      '--clusterrole=olap-warden-admin.olap',
      `--user=${user}`,
    ]);
  }
  // Only Carol has no right to grant access.
  const delegation = '--clusterrole=olap-warden-delegation.olap';
  const users = ['--user=alice', '--user=bob'];
  await api.mustKubectl(['-n', namespace, 'create', 'rolebinding', 'delegation', delegation, ...users]);
  // The API server applies rules and aggregated roles shortly after they are stored.
  await eventually(
    () => admitted(alice, role('probe'), '--dry-run=server'),
    (text) => text.includes(authors ? CREATED : '"kind": "Role"'),
  );
  for (const [object, resource] of [
    [policy('probe-held'), 'policies.olapwarden.io'],
    [role('probe-given'), 'roles.olapwarden.io'],
  ] as const) {
    await admitted(alice, object);
    await eventually(
      () => kubectl(carol, 'delete', resource, object.metadata.name, '--dry-run=server'),
      ({ code }) => code !== 0,
    );
  }
});
afterAll(() => api.stop());

function kubectl(as: string, ...args: string[]): Promise<CommandResult> {
  return api.kubectl(['-n', namespace, ...args], { kubeconfig: as });
}

/** The result of applying an object: its JSON, or the error. The gateway may only read kinds that it lists. */
async function admitted(as: string, object: object, ...args: string[]): Promise<string> {
  const verb = as === gateway ? 'create' : 'apply';
  const { code, stdout, stderr } = await api.kubectl(['-n', namespace, verb, '-o', 'json', ...args, '-f', '-'], {
    kubeconfig: as,
    input: JSON.stringify(object),
  });
  return code === 0 ? stdout : stderr;
}

/** Like admitted(), with the whole object: what it does not have is removed. */
async function kubectlReplace(as: string, object: object): Promise<string> {
  const args = ['-n', namespace, 'replace', '-o', 'json', '-f', '-'];
  const { code, stdout, stderr } = await api.kubectl(args, { kubeconfig: as, input: JSON.stringify(object) });
  return code === 0 ? stdout : stderr;
}

/** What the operator writes to the status: the names of those that refer to the object. */
async function referenced(resource: string, name: string, ...referencedBy: string[]): Promise<void> {
  const where = ['-n', namespace, 'patch', `${resource}.olapwarden.io`, name, '--subresource=status', '--type=merge'];
  await api.mustKubectl([...where, '-p', JSON.stringify({ status: { referencedBy } })]);
}

async function annotations(kind: CustomKind, name: string): Promise<Record<string, string>> {
  const resource = `${KINDS[kind].plural}.olapwarden.io`;
  const { stdout } = await kubectl(alice, 'get', resource, name, '-o', 'jsonpath={.metadata.annotations}');
  return JSON.parse(stdout) as Record<string, string>;
}

describe('authors', () => {
  beforeEach(({ skip }) => skip(!authors, WITHOUT_AUTHORS));

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
      '--clusterrole=olap-warden-admin.olap',
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
  const refusals: [resource: string, name: string, referrers: string[], message: string][] = [
    ['policies', 'held', ['holder'], 'policy `held` is attached to role `holder`: detach it first'],
    ['policies', 'held', ['a', 'b'], 'policy `held` is attached to roles `a`, `b`: detach it first'],
    ['roles', 'holder', ['giver'], 'role `holder` is assigned in RoleAssignment `giver`: delete it first'],
    ['roles', 'holder', ['a', 'b'], 'role `holder` is assigned in RoleAssignments `a`, `b`: delete them first'],
  ];
  const removal = (as: string, resource: string, name: string) =>
    kubectl(as, 'delete', `${resource}.olapwarden.io`, name, '--dry-run=server');

  it('cannot be deleted without the verbs bind and assign, with the message of the REST API', async () => {
    await admitted(alice, policy('held'));
    await admitted(alice, role('holder', { policies: ['held'] }));
    await admitted(alice, roleAssignment('giver', { role: 'holder' }));
    for (const [resource, name, referrers, message] of refusals) {
      await referenced(resource, name, ...referrers);
      expect((await removal(carol, resource, name)).stderr).toContain(message);
      const warned = await removal(alice, resource, name);
      expect(warned).toMatchObject({ code: 0, stderr: expect.stringContaining(message.split(':')[0]!) });
    }
  });

  it('can be deleted without the verbs once the operator has found no reference', async () => {
    for (const [resource, name] of refusals) {
      await referenced(resource, name);
      expect(await removal(carol, resource, name)).toMatchObject({ code: 0, stderr: '' });
    }
  });

  it('needs the verbs while no operator has looked at it, and others can be deleted', async () => {
    await admitted(alice, policy('unseen'));
    await admitted(alice, role('unseen'));
    for (const [resource, verb] of [
      ['policies', 'bind'],
      ['roles', 'assign'],
    ] as const) {
      const { code, stderr } = await removal(carol, resource, 'unseen');
      expect(code).not.toBe(0);
      expect(stderr).toContain('wait until the operator has written its status');
      expect(stderr).toContain(`the verb ${verb} on ${resource}.olapwarden.io \`unseen\``);
      expect(await removal(alice, resource, 'unseen')).toMatchObject({ code: 0, stderr: '' });
    }
  });

  it('can be deleted by the gateway, which checks that itself', async () => {
    await admitted(alice, policy('held-too'));
    await referenced('policies', 'held-too', 'holder-too');
    expect((await removal(carol, 'policies', 'held-too')).code).not.toBe(0);
    const gone = await kubectl(gateway, 'delete', '--wait=false', 'policies.olapwarden.io', 'held-too');
    expect(gone.stderr).toBe('');
  });
});

describe('a whole set', () => {
  const samples = join(MANIFESTS, 'samples');

  /** The samples, one with a status. Nobody but the operator may have made their predefined roles. */
  async function create(work: () => Promise<CommandResult>): Promise<void> {
    expect((await work()).stderr).toBe('');
    await referenced('policies', 'read-events', 'analysts');
  }

  async function left(): Promise<string> {
    const names = await kubectl(alice, 'get', '-f', samples, '--ignore-not-found', '-o', 'name');
    return names.stdout;
  }

  it.each(['in the order of the files', 'in the opposite order'])(
    'is deleted by kubectl at the first try, %s, with warnings',
    async (order) => {
      const files = (await readdir(samples)).filter((name) => name.endsWith('.yaml')).sort();
      const ordered = order.includes('opposite') ? files.toReversed() : files;
      const named = ordered.flatMap((name) => ['-f', join(samples, name)]);
      await create(() => kubectl(alice, 'apply', ...named));
      const deleted = await kubectl(alice, 'delete', ...named);
      expect(deleted.code, deleted.stderr).toBe(0);
      expect(deleted.stdout.trim().split('\n')).toHaveLength(files.length);
      expect(deleted.stderr).toMatch(/Warning: .*is attached to role/);
      expect(await left()).toBe('');
    },
  );

  it('is deleted by helm uninstall at the first try', async () => {
    const chart = await mkdtemp(join(tmpdir(), 'olap-warden-set-'));
    try {
      await writeFile(join(chart, 'Chart.yaml'), 'apiVersion: v2\nname: set\nversion: 1.0.0\n');
      // Files of tests are no objects of the API.
      const filter = (source: string): boolean => basename(source) !== 'tests';
      await cp(samples, join(chart, 'templates'), { recursive: true, filter });
      const helm = async (...args: string[]): Promise<CommandResult> => {
        const flags = ['--kubeconfig', alice, '--namespace', namespace];
        const env = { ...process.env, HELM_DRIVER: 'configmap' };
        const { stdout, stderr } = await run(join(await helmTools(), 'helm'), [...args, ...flags], { env });
        return { code: 0, stdout, stderr: stderr.replaceAll(/^(WARNING|level=WARN).*\n/gm, '') };
      };
      await api.mustKubectl(['-n', namespace, 'create', 'rolebinding', 'helm', '--clusterrole=edit', '--user=alice']);
      await create(() => helm('install', 'set', chart));
      await helm('uninstall', 'set');
      expect(await left()).toBe('');
    } finally {
      await rm(chart, { recursive: true });
    }
  });
});

describe('rights added to view, edit and admin, if the ClusterRoles have the labels', () => {
  it('are none without the labels', async () => {
    const asked = ['-n', namespace, 'auth', 'can-i', 'get', 'policies.olapwarden.io', '--as', 'before'];
    await api.mustKubectl(['-n', namespace, 'create', 'rolebinding', 'before', '--clusterrole=admin', '--user=before']);
    expect((await api.kubectl(asked)).stdout.trim()).toBe('no');
    await api.mustKubectl(['apply', '--server-side', '--force-conflicts', '-f', join(MANIFESTS, 'rbac/users.yaml')]);
    await eventually(
      async () => (await api.kubectl(asked)).stdout.trim(),
      (answer) => answer === 'yes',
    );
  });

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

describe('the verbs bind, assign and escalate', () => {
  const statement = (effect: 'allow' | 'deny', action: string, resource = 'srn2:table#events') => ({
    effect,
    actions: [action],
    resources: [resource],
  });
  const written = (name: string, ...statements: ReturnType<typeof statement>[]) => policy(name, { statements });
  const people = (...names: string[]) => names.map((name) => ({ type: 'user-email' as const, name }));

  beforeAll(async () => {
    // The rules are from beforeAll() above; they reach the API server's memory a moment after they are stored.
    const refusals = [
      role('probe', { policies: ['x'] }),
      roleAssignment('probe'),
      written('probe', statement('allow', '*')),
    ];
    for (const refused of refusals) {
      await eventually(
        () => admitted(carol, refused, '--dry-run=server'),
        (text) => text.includes('you may not'),
      );
    }
  });

  async function grant(verb: string, resource: string, name: string): Promise<void> {
    const right = `${verb}-${resource}-${name}`;
    const rules = [{ apiGroups: ['olapwarden.io'], resources: [resource], resourceNames: [name], verbs: [verb] }];
    const granted = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name: right }, rules };
    await api.mustKubectl(['-n', namespace, 'apply', '-f', '-'], { input: JSON.stringify(granted) });
    await api.mustKubectl(['-n', namespace, 'create', 'rolebinding', right, `--role=${right}`, '--user=carol']);
  }

  /** Waits until the rights or parameters that were just written are in force. */
  const eventuallyAdmitted = (as: string, object: { kind: string }): Promise<string> =>
    eventually(
      () => admitted(as, object),
      (text) => text.includes(`"kind": "${object.kind}"`),
    );

  it('bind: adding a policy to a role and removing it; policies that the role keeps do not require it', async () => {
    await admitted(gateway, role('grown', { policies: ['there-before'] }));
    const refusal =
      'you may not attach all of `wanted`: you need the verb bind on each of these policies.olapwarden.io';
    const grown = role('grown', { policies: ['there-before', 'wanted'] });
    expect(await admitted(carol, grown)).toContain(refusal);
    expect(await admitted(carol, role('grown', { policies: ['there-before'], description: 'x' }))).toContain(
      '"kind": "Role"',
    );
    expect(await admitted(carol, role('grown', { policies: [] }))).toContain(
      'you may not detach all of `there-before`, which may contain denies: you need the verb bind on each of these policies.olapwarden.io',
    );
    await grant('bind', 'policies', 'wanted');
    await eventuallyAdmitted(carol, grown);
    await grant('bind', 'policies', 'there-before');
    await eventuallyAdmitted(carol, role('grown', { policies: ['wanted'] }));
  });

  it('bind: a role has many policies, with the verb on all of them or on each', async () => {
    const many = Array.from({ length: 256 }, (_, index) => `many-${index}`);
    expect(await admitted(alice, role('many', { policies: many }))).toContain('"kind": "Role"');
    expect(await admitted(alice, role('many', { policies: [] }), '--server-side', '--force-conflicts')).toContain(
      '"kind": "Role"',
    );
    expect(await admitted(carol, role('few', { policies: many.slice(0, 17) }))).toContain(
      'you may attach and detach at most 16 policies at once, not 17, unless you have the verb bind on all policies.olapwarden.io',
    );
    for (const name of many.slice(0, 16)) {
      const all = role('few', { policies: many.slice(0, 16) });
      expect(await admitted(carol, all), name).toContain('you may not attach all of `many-0`, `many-1`');
      await grant('bind', 'policies', name);
    }
    await eventuallyAdmitted(carol, role('few', { policies: many.slice(0, 16) }));
    const swapped = role('few', { policies: [...many.slice(1, 16), 'many-16'] });
    expect(await admitted(carol, swapped)).toContain('you may not attach all of `many-16` and detach all of `many-0`');
  });

  it('assign: a role is assigned and unassigned', async () => {
    await admitted(gateway, roleAssignment('given', { role: 'wanted', subjects: people('a', 'b') }));
    const verb = 'you need the verb assign on roles.olapwarden.io `wanted`';
    const more = roleAssignment('given', { role: 'wanted', subjects: people('a', 'b', 'carol') });
    const changes = [
      more,
      roleAssignment('given', { role: 'wanted', subjects: people('a') }),
      roleAssignment('given', {
        role: 'wanted',
        subjects: people('a', 'b').map((subject) => Object.assign(subject, { expiresAt: '2030-01-01T00:00:00Z' })),
      }),
    ];
    for (const change of changes) {
      expect(await admitted(carol, change)).toContain(`you may not change who has role \`wanted\`: ${verb}`);
    }
    const deletion = await kubectl(carol, 'delete', 'roleassignments.olapwarden.io', 'given');
    expect(deletion.stderr).toContain(`you may not change who has role \`wanted\`: ${verb}`);
    expect(await admitted(carol, roleAssignment('other', { role: 'wanted', subjects: people('a') }))).toContain(
      `you may not assign role \`wanted\`: ${verb}`,
    );
    await kubectl(carol, 'label', 'roleassignments.olapwarden.io', 'given', 'team=data');
    await grant('assign', 'roles', 'wanted');
    await eventuallyAdmitted(carol, more);
    expect((await kubectl(carol, 'delete', 'roleassignments.olapwarden.io', 'given')).stderr).toBe('');
  });

  it('bind, assign: an owner is named, with which the garbage collector deletes the object', async () => {
    const configMap = ['create', 'configmap', 'owner', '-o', 'jsonpath={.metadata.uid}'];
    const { stdout: uid } = await api.kubectl(['-n', namespace, ...configMap]);
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }];
    const owned = <T extends { readonly metadata: object }>(object: T): T => {
      return { ...object, metadata: { ...object.metadata, ownerReferences } };
    };
    const objects = [
      [written('owned', statement('deny', 'Query')), 'bind on policies.olapwarden.io `owned`'],
      [role('owned', { policies: [] }), 'assign on roles.olapwarden.io `owned`'],
      [roleAssignment('owned', { role: 'owning', subjects: people('a') }), 'assign on roles.olapwarden.io `owning`'],
    ] as const;
    for (const [object] of objects) await admitted(gateway, object);
    const refused = (right: string): string =>
      `you may not set metadata.ownerReferences of \`owned\`: it is deleted with its owner, and you need the verb ${right}`;
    for (const [object, right] of objects) {
      await eventually(
        () => admitted(carol, owned(object)),
        (text) => text.includes(refused(right)),
      );
      expect(await admitted(alice, owned(object))).toContain(`"uid": "${uid}"`);
    }
    // Its other metadata are not affected, nor is the garbage collector.
    expect((await kubectl(carol, 'label', 'policies.olapwarden.io', 'owned', 'team=data')).stderr).toBe('');
    await api.mustKubectl(['-n', namespace, 'delete', 'configmap', 'owner']);
    for (const [{ kind }] of objects) {
      await eventually(
        () => kubectl(alice, 'get', `${KINDS[kind as CustomKind].plural}.olapwarden.io`, 'owned'),
        ({ code }) => code !== 0,
      );
    }
  });

  it('assign: a service token is created, or lives longer', async () => {
    const refusal = (what: string, name: string): string =>
      `you may not ${what} service token \`${name}\`, because it has the roles of every role assignment that names it: you need the verb assign on servicetokens.olapwarden.io \`${name}\``;
    expect(await admitted(carol, serviceToken('again'))).toContain(refusal('create', 'again'));
    const ending = (fields: Parameters<typeof serviceToken>[1]) => serviceToken('ending', fields);
    await admitted(gateway, ending({ expiresAt: '2030-01-01T00:00:00Z' }));
    for (const expiresAt of ['2030-01-01T00:00:01Z', '2030-01-01T00:00:00-01:00', undefined]) {
      const result = await kubectlReplace(carol, ending(expiresAt === undefined ? {} : { expiresAt }));
      expect(result, expiresAt).toContain(refusal('extend `expiresAt` of', 'ending'));
    }
    const others = [{ expiresAt: '2030-01-01T00:00:00Z', description: 'x' }, { expiresAt: '2029-01-01T00:00:00Z' }];
    for (const fields of others)
      expect(await kubectlReplace(carol, ending(fields))).toContain('"kind": "ServiceToken"');
    await grant('assign', 'servicetokens', 'again');
    await eventuallyAdmitted(carol, serviceToken('again'));
    expect(await admitted(carol, serviceToken('third'))).toContain(refusal('create', 'third'));
    // Who may assign every role gains nothing by a token.
    const right = ['create', 'clusterrole', 'assign-all', '--verb=assign', '--resource=roles.olapwarden.io'];
    await api.mustKubectl(right);
    const dora = await api.kubeconfig('dora');
    for (const clusterRole of ['assign-all', 'olap-warden-admin.olap'])
      await api.mustKubectl([
        ...['-n', namespace, 'create', 'rolebinding', `dora-${clusterRole}`],
        ...[`--clusterrole=${clusterRole}`, '--user=dora'],
      ]);
    await eventuallyAdmitted(dora, serviceToken('third'));
  });

  it('escalate: a policy is written only with it, in any spelling, also one that a role has or names already', async () => {
    const refusal = (name: string): string =>
      `you may not write policy \`${name}\`: you need the verb escalate on policies.olapwarden.io \`${name}\``;
    await admitted(gateway, role('names-it', { policies: ['mine'] }));
    const spellings: object[] = [
      written('mine', statement('allow', '*', '*')),
      written('mine', statement('allow', '*e*', '*')),
      written('mine', statement('allow', 'Query')),
      written('mine', statement('deny', 'Query'), statement('allow', 'A*', '*')),
      policy('mine', { statements: [{ effect: 'allow', resources: ['srn2:*#*'] }] }),
    ];
    for (const object of spellings) expect(await admitted(carol, object)).toContain(refusal('mine'));
    // A deny may apply to an administrator.
    expect(await admitted(carol, written('mine', statement('deny', 'Query')))).toContain(refusal('mine'));
    await admitted(gateway, written('mine', statement('deny', 'Query'), statement('deny', 'GetSize')));
    const changed = [
      written('mine', statement('deny', 'Query'), statement('deny', 'GetSize'), statement('deny', 'GetSchema')),
      written('mine', statement('deny', 'Query')),
      written('mine', statement('deny', 'Query'), statement('deny', 'GetSize', 'srn2:table#other')),
      written('mine', statement('deny', 'Query'), statement('allow', 'GetSize')),
    ];
    for (const object of changed) expect(await admitted(carol, object)).toContain(refusal('mine'));
    // Rewriting what a role has already.
    await admitted(gateway, written('attached', statement('allow', 'Query')));
    await admitted(gateway, role('has-it', { policies: ['attached'] }));
    const rewritten = written('attached', statement('allow', 'Query'), statement('allow', 'DeleteTable'));
    expect(await admitted(carol, rewritten)).toContain(refusal('attached'));
    await kubectl(carol, 'annotate', 'policies.olapwarden.io', 'attached', 'note=x');
    await grant('escalate', 'policies', 'attached');
    await eventuallyAdmitted(carol, rewritten);
  });

  it('escalate: a policy of the greatest length is written with it', async () => {
    const statements = Array.from({ length: 1000 }, (_, index) => statement('allow', 'Query', `srn2:table#t${index}`));
    expect(await admitted(alice, written('long', ...statements), '--server-side')).toContain('"kind": "Policy"');
    const changed = statements.with(0, statement('allow', 'Query', 'srn2:table#other'));
    expect(await admitted(alice, written('long', ...changed), '--server-side')).toContain('"kind": "Policy"');
    expect(await admitted(carol, written('long', ...statements), '--server-side', '--force-conflicts')).toMatch(
      'you may not write policy',
    );
  });

  it('are in no aggregated role, but in olap-warden-delegation', async () => {
    for (const [user, answer] of [
      ['alice', 'yes'],
      ['carol', 'no'],
    ] as const) {
      for (const verb of ['bind', 'escalate']) {
        const asked = await kubectl(alice, 'auth', 'can-i', verb, 'policies.olapwarden.io/x');
        expect(asked.stdout.trim(), `alice ${verb}`).toBe('yes');
      }
      const own = await kubectl(user === 'alice' ? alice : carol, 'auth', 'can-i', 'assign', 'roles.olapwarden.io/x');
      expect(own.stdout.trim(), user).toBe(answer);
    }
  });
});

describe('the last administrator', () => {
  const refusal = 'role `system-admin` would have no subject left: assign it to another subject first';
  const admin = (name: string, ...subjects: object[]): ReturnType<typeof roleAssignment> =>
    roleAssignment(name, { role: 'system-admin', subjects: subjects as never });
  const ada = { type: 'user-email', name: 'ada' };
  const count = async (subjectCount: number): Promise<void> => {
    const patch = JSON.stringify({ status: { subjectCount } });
    const where = ['-n', namespace, 'patch', 'roles.olapwarden.io', 'system-admin'];
    await api.mustKubectl([...where, '--subresource=status', '--type=merge', '-p', patch]);
  };

  it('cannot be removed with the verb assign', async () => {
    await admitted(alice, role('system-admin', { policies: [] }));
    await admitted(alice, admin('first', ada));
    // The operator counts the subjects.
    await count(1);
    const limited = admin('first', { ...ada, expiresAt: '2030-01-01T00:00:00Z' });
    const refused = await eventually(
      () => admitted(alice, limited, '--dry-run=server'),
      (text) => text.includes(refusal),
    );
    expect(refused).toContain(refusal);
    expect(await admitted(alice, admin('first', { type: 'user-email', name: 'grace' }))).toContain('"RoleAssignment"');
    await admitted(alice, admin('second', ada));
    await count(2);
    const removal = ['delete', 'roleassignments.olapwarden.io', 'first'];
    const silent = await eventually(
      () => kubectl(alice, ...removal, '--dry-run=server'),
      ({ stderr }) => stderr === '',
    );
    expect(silent.code).toBe(0);
    // Another assignment has the same subject without an expiry: each of the two can get one, or be deleted.
    const grace = { type: 'user-email', name: 'grace' };
    expect(await admitted(alice, admin('second', grace))).toContain('"RoleAssignment"');
    const ending = admin('first', { ...grace, expiresAt: '2030-01-01T00:00:00Z' });
    expect(await admitted(alice, ending, '--dry-run=server')).toContain('"RoleAssignment"');
    expect(await kubectl(alice, ...removal, '--dry-run=server')).toMatchObject({ code: 0, stderr: '' });
    const denied = await kubectl(carol, ...removal);
    expect(denied.stderr).toContain('you need the verb assign on roles.olapwarden.io `system-admin`');
    await count(1);
    const kept = await eventually(
      () => kubectl(alice, ...removal, '--dry-run=server'),
      ({ stderr }) => stderr.includes(refusal),
    );
    expect(kept.code).not.toBe(0);
    const annotate = ['annotate', 'roleassignments.olapwarden.io', 'first', 'olapwarden.io/deletion=allowed'];
    expect((await kubectl(alice, ...annotate)).code).toBe(0);
    expect(await kubectl(alice, ...removal)).toMatchObject({ code: 0, stderr: '' });
  });

  it('is not an expired subject, once the operator has counted', async () => {
    const expired = ['x', 'y', 'z'].map((name) => ({ ...ada, name, expiresAt: '2020-01-01T00:00:00Z' }));
    await admitted(alice, admin('former', ...expired));
    await admitted(alice, admin('mixed', ada, ...expired));
    await admitted(alice, admin('stays', { ...ada, name: 'grace' }));
    await count(2);
    const removal = (name: string) =>
      kubectl(alice, 'delete', 'roleassignments.olapwarden.io', name, '--dry-run=server');
    const counted = async (name: string, subjectCount: number, observedGeneration: number): Promise<void> => {
      const patch = JSON.stringify({ status: { subjectCount, observedGeneration } });
      const where = ['-n', namespace, 'patch', 'roleassignments.olapwarden.io', name];
      await api.mustKubectl([...where, '--subresource=status', '--type=merge', '-p', patch]);
    };
    // A count of earlier subjects is not used.
    await counted('former', 0, 0);
    await counted('mixed', 0, 0);
    for (const name of ['former', 'mixed']) expect((await removal(name)).stderr, name).toContain(refusal);
    await counted('former', 0, 1);
    await counted('mixed', 1, 1);
    for (const name of ['former', 'mixed']) expect((await removal(name)).stderr, name).toBe('');
    await count(1);
    await eventually(
      () => removal('mixed'),
      ({ stderr }) => stderr.includes(refusal),
    );
    expect((await removal('former')).stderr).toBe('');
  });
});

// Last, because it deletes the namespace of the rules.
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
      () => kubectl(carol, 'delete', 'policies.olapwarden.io', 'p', '--dry-run=server'),
      ({ code }) => code !== 0,
    );
    await api.mustKubectl(['delete', 'namespace', namespace, KUBECTL_TIMEOUT]);
    expect((await api.kubectl(['get', 'namespace', namespace])).stderr).toContain('not found');
  });
});

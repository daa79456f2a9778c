import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hashesOf, parseBearerToken, secretKeyMatches } from '../../../src/access/service-token.ts';
import { PREDEFINED_POLICIES, PREDEFINED_ROLES } from '../../../src/access/policy/predefined.ts';
import type { Condition } from '../../../src/resources/meta.ts';
import type { Secret, ServiceToken } from '../../../src/resources/kinds.ts';
import { policy, role, roleAssignment, serviceToken } from '../../builders/resources.ts';
import { sharedControlPlane, type ControlPlaneClient } from '../../support/control-plane.ts';
import { eventually, runOperator, type RunningOperator } from '../../support/operator.ts';
import { KUBECTL_TIMEOUT } from '../../support/limits.ts';

let api: ControlPlaneClient;
let namespace: string;
let running: RunningOperator;

beforeAll(async () => {
  api = await sharedControlPlane();
  await api.applyCrds();
});

interface Applied {
  metadata: { generation: number; annotations?: Record<string, string> };
  spec: Record<string, unknown>;
  status?: Record<string, unknown> & { conditions?: Condition[] };
}

async function kubectl(...args: string[]): Promise<string> {
  return (await api.mustKubectl(['-n', namespace, ...args])).stdout;
}

async function apply(object: object): Promise<void> {
  await api.mustKubectl(['-n', namespace, 'apply', '-f', '-'], { input: JSON.stringify(object) });
}

async function get<T = Applied>(resource: string, name: string): Promise<T | undefined> {
  const { code, stdout } = await api.kubectl(['-n', namespace, 'get', resource, name, '-o', 'json']);
  return code === 0 ? (JSON.parse(stdout) as T) : undefined;
}

function reason(object: Applied | undefined): string {
  const ready = object?.status?.conditions?.find(({ type }) => type === 'Ready');
  return `${ready?.status} ${ready?.reason}`;
}

async function until(resource: string, name: string, wanted: string): Promise<Applied> {
  return (await eventually(
    () => get(resource, name),
    (object) => reason(object) === wanted,
  ))!;
}

describe('with an operator', () => {
  beforeAll(async () => {
    namespace = await api.createNamespace('operator');
    running = runOperator(api.kubeconfigPath, namespace, { tokenGraceMs: 4000 });
    await eventually(() => running.operator.isLeader(), Boolean);
  });
  afterAll(() => running.stop());

  it('a Role is not ready until its Policy exists', async () => {
    await apply(role('analysts', { policies: ['read-events'] }));
    const waiting = await until('roles.olapwarden.io', 'analysts', 'False PolicyNotFound');
    expect(waiting.status?.conditions?.[0]?.message).toContain('policy `read-events` not found');
    await apply(policy('read-events'));
    const ready = await until('roles.olapwarden.io', 'analysts', 'True Ready');
    expect(ready.status).toMatchObject({
      srn: 'srn2:role#analysts',
      observedGeneration: ready.metadata.generation,
      policyCount: 1,
      subjectCount: 0,
    });
    await kubectl('wait', '--for=condition=Ready', KUBECTL_TIMEOUT, 'roles.olapwarden.io/analysts');
    expect(await kubectl('get', 'roles.olapwarden.io', 'analysts')).toMatch(/analysts\s+True\s+1\s+0/);
    await apply(role('analysts', { policies: ['read-events'], description: 'changed' }));
    await eventually(
      () => get('roles.olapwarden.io', 'analysts'),
      (object) => object?.status?.['observedGeneration'] === 2,
    );
  });

  it('what refers to a Policy and to a Role is in their status', async () => {
    const referrers = (resource: string, name: string, wanted: string[]) =>
      eventually(
        () => get(`${resource}.olapwarden.io`, name),
        (object) => JSON.stringify(object?.status?.['referencedBy']) === JSON.stringify(wanted),
      );
    await referrers('policies', 'read-events', ['analysts']);
    await referrers('roles', 'analysts', []);
    await apply(roleAssignment('reading', { role: 'analysts' }));
    await referrers('roles', 'analysts', ['reading']);
    await kubectl('delete', 'roleassignments.olapwarden.io', 'reading');
    await referrers('roles', 'analysts', []);
  });

  it('records Events', async () => {
    const events = await eventually(
      () => kubectl('events', '--for', 'role.olapwarden.io/analysts'),
      (text) => text.includes('Ready'),
    );
    expect(events).toMatch(/Normal\s+PolicyNotFound.*policy `read-events` not found/);
    expect(events).toMatch(/Normal\s+Ready.*the resource is ready/);
  });

  it('predefined resources exist and are restored after a deletion or change', async () => {
    for (const { metadata } of PREDEFINED_POLICIES) await until('policies.olapwarden.io', metadata.name, 'True Ready');
    for (const { metadata } of PREDEFINED_ROLES) await until('roles.olapwarden.io', metadata.name, 'True Ready');
    await kubectl('delete', 'policies.olapwarden.io', 'table-reader');
    await until('policies.olapwarden.io', 'table-reader', 'True Ready');
    const admin = (await get('policies.olapwarden.io', 'system-admin'))!;
    await kubectl(
      'patch',
      'policies.olapwarden.io',
      'system-admin',
      '--type=merge',
      '-p',
      '{"spec":{"statements":[{"effect":"deny","resources":["*"]}]}}',
    );
    const restored = await eventually(
      () => get('policies.olapwarden.io', 'system-admin'),
      (object) => JSON.stringify(object?.spec) === JSON.stringify(admin.spec),
    );
    expect(restored?.metadata.annotations).toMatchObject({ 'olapwarden.io/created-by': 'platform-rbac-manager' });
  });

  describe('a ServiceToken', () => {
    const values = (found: Secret | undefined): Record<string, string> =>
      Object.fromEntries(Object.entries(found?.data ?? {}).map(([key, value]) => [key, atob(value)]));
    const secret = (name: string): Promise<Secret | undefined> => get<Secret>('secrets', name);
    const bearer = async (): Promise<string> => values(await secret('job-token'))['bearerToken']!;

    /** The hash that matches the text: the current one, a previous one, or none. */
    function knownTo(token: ServiceToken, text: string): 'now' | 'still' | 'no' {
      const hashes = hashesOf(token)!;
      const keys = parseBearerToken(text)!;
      if (secretKeyMatches(keys.secretKey, hashes.secretHash)) return 'now';
      return hashes.previousHashes.some(({ hash }) => secretKeyMatches(keys.secretKey, hash)) ? 'still' : 'no';
    }
    const known = async (text: string) =>
      knownTo((await get<ServiceToken>('servicetokens.olapwarden.io', 'job'))!, text);

    it('gets a token in the named Secret, which is active once it has a role', async () => {
      await apply(serviceToken('job', { secretName: 'job-token' }));
      const made = await until('servicetokens.olapwarden.io', 'job', 'True Unassigned');
      for (const condition of ['Ready', 'Assigned=False'])
        await kubectl('wait', `--for=condition=${condition}`, KUBECTL_TIMEOUT, 'otoken/job');
      expect(await kubectl('get', 'otoken', '--field-selector', 'spec.secretName=job-token', '-o', 'name')).toContain(
        'job',
      );
      const given = values(await secret('job-token'));
      expect(Object.keys(given).sort()).toEqual(['accessKey', 'bearerToken', 'secretKey']);
      expect(made.status).toMatchObject({ state: 'Unassigned', accessKey: given['accessKey'] });
      expect(await known(given['bearerToken']!)).toBe('now');
      const owner = { kind: 'ServiceToken', name: 'job' };
      expect((await secret('job-token'))?.metadata.ownerReferences?.[0]).toMatchObject(owner);
      await apply(roleAssignment('job', { role: 'writers', subjects: [{ type: 'service-token', name: 'job' }] }));
      await until('servicetokens.olapwarden.io', 'job', 'True Active');
      expect(await kubectl('get', 'orolebinding', '--field-selector', 'spec.role=writers', '-o', 'name')).toContain(
        'job',
      );
      expect(await kubectl('get', 'orolebinding', '--field-selector', 'spec.role=none', '-o', 'name')).toBe('');
      expect(await kubectl('get', 'otoken', '--field-selector', 'status.state=Active', '-o', 'name')).toContain('job');
      expect(await kubectl('get', 'otoken', 'job')).toMatch(new RegExp(`job\\s+Active\\s+${given['accessKey']}`));
    });

    it('is rotated by an annotation, with both tokens valid for the grace period', async () => {
      const old = await bearer();
      const tokens: ServiceToken[] = [];
      const unsubscribe = running.store.subscribe('ServiceToken', ({ object }) => {
        if (object.metadata.name === 'job') tokens.push(object);
      });
      await kubectl('annotate', 'servicetokens.olapwarden.io', 'job', 'olapwarden.io/rotate-at=1');
      await eventually(bearer, (token) => token !== old);
      const fresh = await bearer();
      await eventually(
        () => get('servicetokens.olapwarden.io', 'job'),
        (object) => object?.status?.['observedRotateAt'] === '1',
      );
      await eventually(
        () => known(old),
        (answer) => answer === 'no',
      );
      expect([await known(fresh), await bearer()]).toEqual(['now', fresh]);
      await eventually(
        () => tokens.map((token) => [knownTo(token, fresh), knownTo(token, old)].join()),
        (states) => states.at(-1) === 'now,no',
      );
      unsubscribe();
      const states = new Set(tokens.map((token) => [knownTo(token, fresh), knownTo(token, old)].join()));
      expect([...states].filter((state) => state !== 'no,now')).toEqual(['now,still', 'now,no']);
    });

    it('ends when its Secret is deleted, and another one is generated when the token is reconciled', async () => {
      const lost = await bearer();
      await kubectl('delete', 'secret', 'job-token');
      await kubectl('label', 'servicetokens.olapwarden.io', 'job', 'reconciled=now');
      await eventually(
        () => known(lost),
        (answer) => answer === 'no',
      );
      await eventually(
        () => secret('job-token'),
        (found) => found !== undefined,
      );
      expect(await known(await bearer())).toBe('now');
    });

    it('deletes its Secret', async () => {
      await kubectl('delete', 'servicetokens.olapwarden.io', 'job');
      await eventually(
        () => secret('job-token'),
        (found) => found === undefined,
      );
    });
  });
});

describe('starting', () => {
  let operators: RunningOperator[] = [];
  beforeEach(async () => {
    namespace = await api.createNamespace('operator');
    operators = [];
  });
  afterEach(() => Promise.all(operators.map((one) => one.stop())));

  function start(identity: string): RunningOperator {
    // A lease so long that only its release lets the other one lead within the time limit of this test.
    const leaderTimes = { leaseMs: 600_000, renewDeadlineMs: 400_000, retryMs: 2000 };
    const one = runOperator(api.kubeconfigPath, namespace, { identity, leaderTimes });
    operators.push(one);
    return one;
  }

  it('one of two operators leads, and the other takes over at once when it stops', async () => {
    const [first, second] = [start('first'), start('second')];
    const leaders = (): string => operators.map(({ operator }) => Number(operator.isLeader())).join('');
    await eventually(leaders, (found) => found !== '00');
    const [leader, other] = first.operator.isLeader() ? [first, second] : [second, first];
    await eventually(
      () => get('roles.olapwarden.io', 'system-admin'),
      (object) => reason(object) === 'True Ready',
    );
    expect([leader.operator.isLeader(), other.operator.isLeader()]).toEqual([true, false]);
    expect(other.operator.ready()).toBe(true);
    await leader.stop();
    operators.splice(operators.indexOf(leader), 1);
    expect(leader.operator.isLeader()).toBe(false);
    await eventually(() => other.operator.isLeader(), Boolean);
    await apply(role('late'));
    await until('roles.olapwarden.io', 'late', 'True Ready');
    const lease = (await get<{ spec: { leaseTransitions: number } }>('lease', 'olap-warden-operator'))!;
    // Only a new holder counts as a transition, not the release.
    expect(lease.spec.leaseTransitions).toBe(1);
  });
});

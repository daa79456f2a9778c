import type { Logger } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { loopTask, startOperator, type LeaderTask, type Operator } from '../../../src/operator/operator.ts';
import type { KubernetesTransport } from '../../../src/kubernetes/transport.ts';
import { StoreError } from '../../../src/store/resource-store.ts';
import { hashSecretKey } from '../../../src/access/service-token.ts';
import type { ServiceToken } from '../../../src/resources/kinds.ts';
import {
  legacyHashSecret,
  policy,
  role,
  roleAssignment,
  serviceToken,
  withAnnotations,
  withMeta,
} from '../../builders/resources.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { FakeStore, loggedLines, metrics, silent } from './fakes.ts';

let operator: Operator;
afterEach(() => operator.stop());

function standalone(store: FakeStore, tasks: LeaderTask[] = [], log: Logger = silent): FakeClock {
  const clock = new FakeClock();
  operator = startOperator({ store, metrics: metrics(), log, clock, tasks });
  return clock;
}

describe('without a Kubernetes API', () => {
  it('leads from the start, creates predefined resources and reconciles every kind', async () => {
    const store = new FakeStore(role('analysts', { policies: ['read'] }), policy('read'));
    const clock = standalone(store);
    await clock.advance(0);
    expect([operator.isLeader(), operator.ready()]).toEqual([true, true]);
    expect(store.get('Role', 'analysts')?.status?.conditions?.[0]?.status).toBe('True');
    expect(store.get('Role', 'system-admin')?.status?.conditions?.[0]?.status).toBe('True');
  });

  it('keeps the tokens of a folder whose state was lost, and deletes those of deleted ServiceTokens', async () => {
    const accessKey = 'a'.repeat(16);
    const before = serviceToken(accessKey, {}, withMeta({ uid: 'before' }));
    const gone = serviceToken('gone', {}, withMeta({ uid: 'gone' }));
    const hashes = { accessKey, secretHash: hashSecretKey('s'.repeat(32)) };
    const store = new FakeStore(
      serviceToken(accessKey),
      legacyHashSecret(before, hashes),
      legacyHashSecret(gone, hashes),
    );
    const clock = standalone(store);
    await clock.advance(0);
    expect(store.get('ServiceToken', accessKey)?.status).toMatchObject(hashes);
    expect(store.list('Secret').map(({ metadata }) => metadata.name)).toEqual([`${accessKey}-hash`]);
  });

  it('waits until the store has synced', async () => {
    const store = new FakeStore(role('analysts'));
    let sync = (): void => {};
    store.synced = async () => new Promise((resolve) => (sync = resolve));
    const clock = standalone(store);
    await clock.advance(60_000);
    expect(store.writes).toEqual([]);
    sync();
    await clock.advance(0);
    expect(store.writes).toContain('status Role/analysts');
  });

  it('writes nothing after stop() has resolved', async () => {
    const store = new FakeStore();
    const clock = standalone(store);
    await clock.advance(0);
    await operator.stop();
    const before = store.writes.length;
    await store.create('Role', role('late'));
    await clock.advance(3_600_000);
    expect(store.writes.slice(before)).toEqual(['create Role/late']);
    expect(operator.isLeader()).toBe(false);
  });

  it('writes nothing when the store fails to sync, and logs why', async () => {
    const store = new FakeStore(role('analysts'));
    store.synced = async () => Promise.reject(new Error('no such folder'));
    const { log, lines } = loggedLines();
    const clock = standalone(store, [], log);
    await clock.advance(60_000);
    expect(store.writes).toEqual([]);
    expect(lines).toMatchObject([{ msg: 'operator failed', err: { message: 'no such folder' } }]);
  });
});

describe('with a Kubernetes API', () => {
  it.each([
    ['warden-0', /^warden-0$/],
    [undefined, /_[0-9a-f]{8}$/],
  ])('takes the lease with the identity %s', async (identity, holder) => {
    let lease: unknown;
    const request: KubernetesTransport['request'] = async (method, path, options) => {
      if (method === 'GET') throw new StoreError('not-found', path);
      if (path.endsWith('/leases')) lease = options?.body;
      return { status: 201, body: options?.body as never };
    };
    const transport = { namespace: 'olap', request } as KubernetesTransport;
    const [store, clock] = [new FakeStore(), new FakeClock()];
    operator = startOperator({
      ...{ store, transport, clock, metrics: metrics(), log: silent },
      ...(identity === undefined ? {} : { identity }),
    });
    await settle();
    expect(lease).toMatchObject({
      metadata: { name: 'olap-warden-operator', namespace: 'olap' },
      spec: { holderIdentity: expect.stringMatching(holder) as string },
    });
    expect(operator.isLeader()).toBe(true);
  });
});

describe('a task of the leader', () => {
  it('runs while the operator leads, and is waited for', async () => {
    const told: string[] = [];
    const loop = {
      start: () => void told.push('start'),
      stop: async () => {
        await settle();
        told.push('stopped');
      },
    };
    const clock = standalone(new FakeStore(), [loopTask('health', () => loop)]);
    await clock.advance(0);
    expect(told).toEqual(['start']);
    await operator.stop();
    expect(told).toEqual(['start', 'stopped']);
  });

  it('that fails does not stop the controllers', async () => {
    const store = new FakeStore(role('analysts'));
    const broken: LeaderTask = { name: 'broken', run: async () => Promise.reject(new Error('a bug')) };
    const clock = standalone(store, [broken]);
    await clock.advance(0);
    expect(store.writes).toContain('status Role/analysts');
  });

  it('that fails is logged, but not where its end is the cause', async () => {
    let fail = (_error: Error): void => {};
    const tasks = [
      { name: 'broken', run: async () => Promise.reject(new Error('a bug')) },
      { name: 'stopped', run: async () => new Promise<void>((_, reject) => (fail = reject)) },
    ];
    const { log, lines } = loggedLines();
    const clock = standalone(new FakeStore(), tasks, log);
    await clock.advance(0);
    const failures = () => lines.filter(({ msg }) => msg === 'task of the leader failed');
    expect(failures()).toMatchObject([{ task: 'broken' }]);
    const stopping = operator.stop();
    fail(new Error('aborted'));
    await stopping;
    expect(failures()).toHaveLength(1);
  });
});

describe('the settings of the operator', () => {
  const HOUR = 3_600_000;
  const rotated = serviceToken('job', { secretName: 'job-token' });
  const team = roleAssignment('team', {
    subjects: [
      { type: 'user-email', name: 'ada@example.com' },
      { type: 'user-email', name: 'bob@example.com', expiresAt: '2025-12-31T22:00:00Z' },
    ],
  });

  it.each([
    [{}, '2026-01-02T00:00:00Z', 2],
    [{ tokenGraceMs: HOUR, pruneExpiredAfterMs: 2 * HOUR }, '2026-01-01T01:00:00Z', 1],
  ])('decide how long old tokens and expired subjects stay: %j', async (settings, validUntil, subjects) => {
    const [store, clock] = [new FakeStore(rotated, team), new FakeClock()];
    operator = startOperator({ store, metrics: metrics(), log: silent, clock, ...settings });
    await clock.advance(0);
    const annotate = withAnnotations<ServiceToken>({ 'olapwarden.io/rotate-at': 'now' });
    await store.update('ServiceToken', annotate(store.get('ServiceToken', 'job')!));
    await clock.advance(0);
    expect(store.get('ServiceToken', 'job')?.status?.previousHashes).toMatchObject([{ validUntil }]);
    expect(store.get('RoleAssignment', 'team')?.spec.subjects).toHaveLength(subjects);
  });
});

import { describe, expect, it } from 'vitest';
import {
  buildHashSecret,
  hashSecretKey,
  parseBearerToken,
  readHashSecret,
  secretKeyMatches,
} from '../../../../src/access/service-token.ts';
import { Controller } from '../../../../src/operator/controller-loop.ts';
import { serviceTokenReconciler } from '../../../../src/operator/reconcilers/service-token.ts';
import type { Secret, ServiceToken } from '../../../../src/resources/kinds.ts';
import { roleAssignment, secret, serviceToken, withAnnotations, withMeta } from '../../../builders/resources.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { FakeRecorder, FakeStore, metrics, silent } from '../fakes.ts';

const GRACE_MS = 3_600_000;
const ROTATE = 'olapwarden.io/rotate-at';

async function run(...objects: ConstructorParameters<typeof FakeStore>) {
  const [store, clock, recorder] = [new FakeStore(...objects), new FakeClock(), new FakeRecorder()];
  const ports = { store, recorder, clock, metrics: metrics(), log: silent };
  const controller = new Controller(serviceTokenReconciler({ graceMs: GRACE_MS }), ports);
  controller.start();
  await clock.advance(0);
  return { store, clock, recorder, settle: () => clock.advance(0), stop: () => controller.stop() };
}

function assign(name: string, ...subjects: string[]) {
  return roleAssignment(name, { subjects: subjects.map((subject) => ({ type: 'service-token', name: subject })) });
}

function token(store: FakeStore, name = 'job'): NonNullable<ServiceToken['status']> & { ready: string } {
  const status = store.get('ServiceToken', name)?.status ?? {};
  const condition = status.conditions?.find(({ type }) => type === 'Ready');
  return { ...status, ready: `${condition?.status} ${condition?.reason}` };
}

function values(found: Secret | undefined): Record<string, string> {
  const entries = Object.entries(found?.data ?? {});
  return Object.fromEntries(entries.map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
}

/** Whether the token in the Secret matches the current hash, the previous one, or none. */
function works(store: FakeStore, bearer: string): 'now' | 'still' | 'no' {
  const hashes = readHashSecret(store.get('Secret', 'job-hash')!)!;
  const keys = parseBearerToken(bearer)!;
  if (keys.accessKey !== hashes.accessKey) return 'no';
  if (secretKeyMatches(keys.secretKey, hashes.secretHash)) return 'now';
  return hashes.previousHash && secretKeyMatches(keys.secretKey, hashes.previousHash) ? 'still' : 'no';
}

const bearerOf = (store: FakeStore): string => values(store.get('Secret', 'job-token'))['bearerToken']!;
const job = (...modifiers: Parameters<typeof withMeta>[0][]) =>
  serviceToken('job', { secretName: 'job-token' }, ...modifiers.map((meta) => withMeta<ServiceToken>(meta)));

async function annotate(store: FakeStore, value: string): Promise<void> {
  await store.update(
    'ServiceToken',
    withAnnotations<ServiceToken>({ [ROTATE]: value })(store.get('ServiceToken', 'job')!),
  );
}

describe('a first token', () => {
  it('is written to the named Secret, its hash to another one, both owned by the ServiceToken', async () => {
    const { store, recorder } = await run(job());
    const given = values(store.get('Secret', 'job-token'));
    expect(given['accessKey']).toMatch(/^[a-z0-9]{16}$/);
    expect(given['secretKey']).toMatch(/^[a-z0-9]{32}$/);
    expect(given['bearerToken']).toBe(`svc-${given['accessKey']}-${given['secretKey']}`);
    expect(works(store, given['bearerToken']!)).toBe('now');
    const owner = { kind: 'ServiceToken', name: 'job', uid: store.get('ServiceToken', 'job')!.metadata.uid };
    const parts = { 'job-token': 'service-token-secret', 'job-hash': 'service-token' };
    for (const [name, part] of Object.entries(parts)) {
      expect(store.get('Secret', name)?.metadata.ownerReferences).toEqual([expect.objectContaining(owner)]);
      expect(store.get('Secret', name)?.metadata.labels).toMatchObject({ 'olapwarden.io/part': part });
    }
    expect(token(store)).toMatchObject({
      state: 'Unassigned',
      accessKey: given['accessKey'],
      srn: 'srn2:service-token#job',
    });
    expect(recorder.events[0]).toContain('Normal TokenCreated job');
    expect(
      JSON.stringify([store.get('ServiceToken', 'job'), recorder.events, store.get('Secret', 'job-hash')]),
    ).not.toContain(given['secretKey']);
  });

  it('is active once a role is assigned to it, by its name or its access key', async () => {
    const { store, settle } = await run(job());
    expect(token(store).ready).toBe('False Unassigned');
    await store.create('RoleAssignment', assign('a', 'job'));
    await settle();
    expect(token(store)).toMatchObject({ ready: 'True Active', state: 'Active' });
    await store.delete('RoleAssignment', 'a');
    await settle();
    expect(token(store)).toMatchObject({ ready: 'False Unassigned', state: 'Unassigned' });
    await store.create('RoleAssignment', assign('b', token(store).accessKey!));
    await settle();
    expect(token(store).state).toBe('Active');
  });

  it('does not overwrite a foreign Secret, whether the store shows it or not', async () => {
    for (const labelled of [true, false]) {
      const foreign = secret('job-token', { password: 'theirs' });
      const { store } = await run(job(), foreign);
      const get = store.get.bind(store);
      if (!labelled) store.get = (kind, name) => (name === 'job-token' ? undefined : get(kind, name));
      expect(token(store).ready).toBe('False SecretNotOwned');
      expect(values(get('Secret', 'job-token'))).toEqual({ password: 'theirs' });
      expect(get('Secret', 'job-hash')).toBeUndefined();
    }
  });

  it('cannot be written to the Secret of its hash', async () => {
    const { store } = await run(serviceToken('job', { secretName: 'job-hash' }));
    expect(token(store).ready).toBe('False InvalidSecretName');
    expect(store.list('Secret')).toEqual([]);
  });

  it('gets its hash after an interruption before the hash was written, and does not change', async () => {
    const first = await run(job());
    await first.stop();
    const bearer = bearerOf(first.store);
    await first.store.delete('Secret', 'job-hash');
    const objects = [first.store.get('ServiceToken', 'job')!, first.store.get('Secret', 'job-token')!];
    const { store } = await run(...objects);
    expect(bearerOf(store)).toBe(bearer);
    expect(works(store, bearer)).toBe('now');
  });

  it('is generated again with the same access key after its Secret was deleted; the lost one is valid for the grace period', async () => {
    const { store, clock, settle } = await run(job());
    const lost = bearerOf(store);
    await store.delete('Secret', 'job-token');
    await settle();
    expect(bearerOf(store)).not.toBe(lost);
    expect(parseBearerToken(bearerOf(store))?.accessKey).toBe(parseBearerToken(lost)?.accessKey);
    expect([works(store, bearerOf(store)), works(store, lost)]).toEqual(['now', 'still']);
    await clock.advance(GRACE_MS);
    expect([works(store, bearerOf(store)), works(store, lost)]).toEqual(['now', 'no']);
  });
});

describe('a rotation', () => {
  it('happens once for each new value of the annotation; both tokens are valid for the grace period', async () => {
    const { store, clock, recorder, settle } = await run(job(), assign('a', 'job'));
    const old = bearerOf(store);
    await clock.advance(60_000);
    await annotate(store, 'now');
    await settle();
    const fresh = bearerOf(store);
    expect(fresh).not.toBe(old);
    expect([works(store, fresh), works(store, old)]).toEqual(['now', 'still']);
    expect(token(store)).toMatchObject({
      observedRotateAt: 'now',
      rotatedAt: '2026-01-01T00:01:00Z',
      ready: 'True Active',
    });
    expect(recorder.events.filter((line) => line.includes('TokenRotated'))).toHaveLength(1);
    await clock.advance(GRACE_MS - 1000);
    expect(works(store, old)).toBe('still');
    await clock.advance(1000);
    expect([works(store, fresh), works(store, old)]).toEqual(['now', 'no']);
    expect(bearerOf(store)).toBe(fresh);
    await annotate(store, 'again');
    await settle();
    expect([works(store, fresh), bearerOf(store) === fresh]).toEqual(['still', false]);
  });

  it('is not made for an annotation that is older than the token', async () => {
    const { store, settle } = await run(job({ annotations: { [ROTATE]: 'x' } }));
    const first = bearerOf(store);
    await settle();
    expect(bearerOf(store)).toBe(first);
    expect(token(store)).toMatchObject({ observedRotateAt: 'x' });
    expect(token(store)).not.toHaveProperty('rotatedAt');
  });

  it.each([0, 1, 2, 3])(
    'that is interrupted after %i writes leaves a valid Secret, and is completed once',
    async (done) => {
      const first = await run(job());
      const old = bearerOf(first.store);
      await first.stop();
      await annotate(first.store, 'now');
      const objects = ['ServiceToken/job', 'Secret/job-token', 'Secret/job-hash'].map((key) => {
        const [kind, name] = key.split('/') as ['Secret', string];
        return first.store.get(kind, name)!;
      });
      const cut = new FakeStore(...objects);
      let writes = 0;
      const [update, updateStatus] = [cut.update.bind(cut), cut.updateStatus.bind(cut)];
      const countDown = (): void => {
        if (writes++ >= done) throw new Error('the process has died');
      };
      cut.update = async (...write) => (countDown(), update(...write));
      cut.updateStatus = async (...write) => (countDown(), updateStatus(...write));
      const controller = new Controller(serviceTokenReconciler({ graceMs: GRACE_MS }), {
        store: cut,
        recorder: new FakeRecorder(),
        clock: new FakeClock(),
        metrics: metrics(),
        log: silent,
      });
      controller.start();
      await settle();
      await controller.stop();
      expect(works(cut, bearerOf(cut))).not.toBe('no');
      expect(works(cut, old)).not.toBe('no');
      const after = await run(
        cut.get('ServiceToken', 'job')!,
        cut.get('Secret', 'job-token')!,
        cut.get('Secret', 'job-hash')!,
      );
      expect([works(after.store, bearerOf(after.store)), works(after.store, old)]).toEqual(['now', 'still']);
      expect(token(after.store).observedRotateAt).toBe('now');
      if (done >= 2) expect(bearerOf(after.store)).toBe(bearerOf(cut));
    },
  );
});

describe('a token created through REST', () => {
  const owner = serviceToken('job', {}, withMeta({ uid: 'uid-1' }));
  const hash = buildHashSecret(owner, { accessKey: 'a'.repeat(16), secretHash: hashSecretKey('s'.repeat(32)) });

  it('needs only the Secret of its hash', async () => {
    const { store } = await run(owner, hash, assign('a', 'a'.repeat(16)));
    expect(token(store)).toMatchObject({ ready: 'True Active', accessKey: 'a'.repeat(16) });
    expect(store.writes.filter((write) => write.includes('Secret'))).toEqual([]);
  });

  it('is stalled if it has no hash after a minute', async () => {
    const { store, clock } = await run(owner);
    expect(store.get('ServiceToken', 'job')?.status?.conditions?.[1]?.type).toBe('Reconciling');
    await clock.advance(60_000);
    expect(store.get('ServiceToken', 'job')?.status?.conditions?.[1]?.type).toBe('Stalled');
    expect(token(store).ready).toBe('False NoSecretName');
  });

  it('is deleted if a gateway ended before it wrote the hash', async () => {
    const byRest = withMeta<ServiceToken>({
      labels: { 'app.kubernetes.io/managed-by': 'olap-warden' },
      annotations: { 'olapwarden.io/created-by': 'srn2:user#ada@example.com' },
    })(owner);
    const { store, clock } = await run(byRest);
    await clock.advance(59_000);
    expect(store.get('ServiceToken', 'job')).toBeDefined();
    await clock.advance(1_000);
    expect(store.get('ServiceToken', 'job')).toBeUndefined();
  });

  it('cannot be rotated, and records one Event', async () => {
    const { store, recorder, settle } = await run(owner, hash, assign('a', 'job'));
    await annotate(store, 'now');
    await settle();
    await settle();
    expect(recorder.events.filter((line) => line.includes('CannotRotate'))).toHaveLength(1);
    expect(token(store)).toMatchObject({ ready: 'True Active', observedRotateAt: 'now' });
  });
});

describe('expiry and deletion', () => {
  it('expires at spec.expiresAt, to the second', async () => {
    const spec = { secretName: 'job-token', expiresAt: '2026-01-01T01:00:00Z' };
    const { store, clock } = await run(serviceToken('job', spec), assign('a', 'job'));
    await clock.advance(3_599_999);
    expect(token(store).state).toBe('Active');
    await clock.advance(1);
    expect(token(store)).toMatchObject({ state: 'Expired', ready: 'False Expired' });
  });

  it('creates nothing for a token that is expired from the start', async () => {
    const { store } = await run(serviceToken('job', { secretName: 'job-token', expiresAt: '2025-01-01T00:00:00Z' }));
    expect(token(store).state).toBe('Expired');
    expect(store.list('Secret')).toEqual([]);
  });

  it('deletes the Secrets', async () => {
    const { store, settle } = await run(job(), secret('other'));
    await store.delete('ServiceToken', 'job');
    await settle();
    expect(store.list('Secret').map(({ metadata }) => metadata.name)).toEqual(['other']);
  });

  it('gives a new token of the same name new Secrets', async () => {
    const { store, settle } = await run(job());
    const old = bearerOf(store);
    const [kept, hash] = [store.get('Secret', 'job-token')!, store.get('Secret', 'job-hash')!];
    const again = await run(serviceToken('job', { secretName: 'job-token' }, withMeta({ uid: 'another' })), kept, hash);
    await settle();
    expect(works(again.store, old)).toBe('no');
    expect(works(again.store, bearerOf(again.store))).toBe('now');
  });
});

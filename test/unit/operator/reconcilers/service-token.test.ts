import { describe, expect, it } from 'vitest';
import { hashesOf, hashSecretKey, parseBearerToken, secretKeyMatches } from '../../../../src/access/service-token.ts';
import { Controller } from '../../../../src/operator/controller/controller-loop.ts';
import { serviceTokenReconciler } from '../../../../src/operator/reconcilers/service-token.ts';
import type { Secret, ServiceToken } from '../../../../src/resources/kinds.ts';
import {
  legacyHashSecret,
  ownedBy,
  roleAssignment,
  secret,
  serviceToken,
  withAnnotations,
  withHashes,
  withLabels,
  withMeta,
} from '../../../builders/resources.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { StoreError, type ResourceStore } from '../../../../src/store/resource-store.ts';
import { FakeRecorder, FakeStore, hidingSecrets, metrics, silent } from '../fakes.ts';

const GRACE_MS = 3_600_000;
const ROTATE = 'olapwarden.io/rotate-at';
/** Longer than the interval at which every object is reconciled. */
const RESYNC_MS = 11 * 60_000;

/** As in Kubernetes, where the operator sees no Secret. */
function run(...objects: ConstructorParameters<typeof FakeStore>) {
  return runOn(new FakeStore(...objects));
}

/** As in a folder of manifests, where it sees all. */
function runShown(...objects: ConstructorParameters<typeof FakeStore>) {
  const store = new FakeStore(...objects);
  return runOn(store, store);
}

async function runOn(store: FakeStore, seen: ResourceStore = hidingSecrets(store)) {
  const [clock, recorder] = [new FakeClock(), new FakeRecorder()];
  const ports = { store: seen, recorder, clock, metrics: metrics(), log: silent };
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

/** Whether the token matches the current hash, a previous one, or none. */
function works(store: FakeStore, bearer: string, now = Number.NEGATIVE_INFINITY): 'now' | 'still' | 'no' {
  const hashes = hashesOf(store.get('ServiceToken', 'job')!);
  const keys = parseBearerToken(bearer)!;
  if (keys.accessKey !== hashes?.accessKey) return 'no';
  if (secretKeyMatches(keys.secretKey, hashes.secretHash)) return 'now';
  const previous = hashes.previousHashes.find(({ hash }) => secretKeyMatches(keys.secretKey, hash));
  return previous && Date.parse(previous.validUntil) > now ? 'still' : 'no';
}

const byGateway = withMeta<ServiceToken>({
  labels: { 'app.kubernetes.io/managed-by': 'olap-warden' },
  annotations: { 'olapwarden.io/created-by': 'srn2:user#ada@example.com' },
});
const bearerOf = (store: FakeStore): string => values(store.get('Secret', 'job-token'))['bearerToken']!;
const job = (...modifiers: Parameters<typeof withMeta>[0][]) =>
  serviceToken('job', { secretName: 'job-token' }, ...modifiers.map((meta) => withMeta<ServiceToken>(meta)));

async function annotate(store: FakeStore, value: string): Promise<void> {
  await store.update(
    'ServiceToken',
    withAnnotations<ServiceToken>({ [ROTATE]: value })(store.get('ServiceToken', 'job')!),
  );
}

/** The objects after an operator has died that had made this number of writes. */
async function cutOff(done: number, ...objects: ConstructorParameters<typeof FakeStore>): Promise<FakeStore> {
  const cut = new FakeStore(...objects);
  let writes = 0;
  const [create, remove, updateStatus] = [cut.create.bind(cut), cut.delete.bind(cut), cut.updateStatus.bind(cut)];
  const countDown = (): void => {
    if (writes++ >= done) throw new Error('the process has died');
  };
  cut.create = async (...write) => (countDown(), create(...write));
  cut.delete = async (kind, name, options) => {
    if (!options?.dryRun) countDown();
    return remove(kind, name, options);
  };
  cut.updateStatus = async (...write) => (countDown(), updateStatus(...write));
  const { stop } = await runOn(cut);
  await stop();
  return cut;
}

describe('a first token', () => {
  it('is written to the named Secret, owned by the ServiceToken, and its hash to the status', async () => {
    const { store, recorder } = await run(job());
    const given = values(store.get('Secret', 'job-token'));
    expect(given['accessKey']).toMatch(/^[a-z0-9]{16}$/);
    expect(given['secretKey']).toMatch(/^[a-z0-9]{32}$/);
    expect(given['bearerToken']).toBe(`svc-${given['accessKey']}-${given['secretKey']}`);
    expect(works(store, given['bearerToken']!)).toBe('now');
    const owner = { kind: 'ServiceToken', name: 'job', uid: store.get('ServiceToken', 'job')!.metadata.uid };
    const written = store.get('Secret', 'job-token')?.metadata;
    expect(written?.ownerReferences).toEqual([expect.objectContaining(owner)]);
    expect(written?.labels).toMatchObject({ 'olapwarden.io/part': 'service-token-secret' });
    expect(store.list('Secret')).toHaveLength(1);
    expect(token(store)).toMatchObject({
      state: 'Unassigned',
      accessKey: given['accessKey'],
      srn: 'srn2:service-token#job',
    });
    expect(recorder.events[0]).toContain('Normal TokenCreated job');
    expect(JSON.stringify([store.get('ServiceToken', 'job'), recorder.events])).not.toContain(given['secretKey']);
  });

  it('is written when a Secret of somebody else has left its place', async () => {
    const { store, clock } = await run(job(), secret('job-token'));
    expect(token(store).ready).toBe('False SecretNotOwned');
    expect(values(store.get('Secret', 'job-token'))).toEqual({});
    await store.delete('Secret', 'job-token');
    await clock.advance(60_000);
    expect(works(store, bearerOf(store))).toBe('now');
  });

  it('is active once a role is assigned to it, by its name or its access key', async () => {
    const { store, settle } = await run(job());
    expect(token(store).ready).toBe('True Unassigned');
    await store.create('RoleAssignment', assign('a', 'job'));
    await settle();
    expect(token(store)).toMatchObject({ ready: 'True Active', state: 'Active' });
    await store.delete('RoleAssignment', 'a');
    await settle();
    expect(token(store)).toMatchObject({ ready: 'True Unassigned', state: 'Unassigned' });
    await store.create('RoleAssignment', assign('b', token(store).accessKey!));
    await settle();
    expect(token(store).state).toBe('Active');
  });

  it.each([
    'without a label',
    'with the label of a token',
    'that the store does not show',
    'that the API server refuses',
  ])('does not replace a foreign Secret %s', async (kind) => {
    const label = withLabels<Secret>({ 'olapwarden.io/part': 'service-token-secret' });
    const foreign = secret('job-token', { password: 'theirs' }, kind.includes('label of') ? label : (same) => same);
    const store = new FakeStore(job(), foreign);
    if (kind.includes('refuses'))
      store.delete = async () => Promise.reject(new StoreError('invalid', 'not a Secret of a service token'));
    const { stop, settle } = await runOn(store, kind.includes('not show') ? hidingSecrets(store) : store);
    await annotate(store, 'now');
    await settle();
    expect(token(store)).toMatchObject({ ready: 'False SecretNotOwned', state: 'Unassigned' });
    expect(token(store).secretHash).toBeUndefined();
    expect(store.writes.filter((write) => write.includes('Secret'))).toEqual([]);
    await stop();
  });

  it('gets its hash from the Secret where a folder lost its status, and is not rotated for that', async () => {
    const first = await runShown(job({ annotations: { [ROTATE]: 'x' } }));
    await first.stop();
    const bearer = bearerOf(first.store);
    const { status: _, ...withoutStatus } = first.store.get('ServiceToken', 'job')!;
    const { store } = await runShown(withoutStatus, first.store.get('Secret', 'job-token')!);
    expect(bearerOf(store)).toBe(bearer);
    expect(works(store, bearer)).toBe('now');
    expect(token(store)).toMatchObject({ observedRotateAt: 'x' });
  });

  it('ends if its Secret is deleted, and another one gets its access key; those before it stay valid', async () => {
    const { store, clock, settle, recorder } = await run(job());
    const first = bearerOf(store);
    await annotate(store, '1');
    await settle();
    await clock.advance(60_000);
    const lost = bearerOf(store);
    expect(works(store, first)).toBe('still');
    await store.delete('Secret', 'job-token');
    await clock.advance(RESYNC_MS);
    expect(parseBearerToken(bearerOf(store))?.accessKey).toBe(parseBearerToken(lost)?.accessKey);
    expect([first, lost, bearerOf(store)].map((one) => works(store, one))).toEqual(['still', 'no', 'now']);
    expect(recorder.events.at(-1)).toContain('the token before it is no longer valid');
    await clock.advance(GRACE_MS);
    expect([works(store, first), works(store, bearerOf(store))]).toEqual(['no', 'now']);
  });

  it.each([0, 1, 2])(
    'ends for ever if its Secret is deleted, also if the operator dies after %i writes',
    async (done) => {
      const first = await run(job());
      const lost = bearerOf(first.store);
      await first.stop();
      const cut = await cutOff(done, first.store.get('ServiceToken', 'job')!);
      const after = await run(cut.get('ServiceToken', 'job')!, ...cut.list('Secret'));
      expect([works(after.store, lost), works(after.store, bearerOf(after.store))]).toEqual(['no', 'now']);
    },
  );

  it('is the one that was written: another one that somebody writes to its Secret is not valid', async () => {
    const { store, clock } = await run(job());
    const mine = bearerOf(store);
    const taken = secret('job-token', { ...parseBearerToken(mine)!, secretKey: 'c'.repeat(32) });
    await store.update('Secret', { ...store.get('Secret', 'job-token')!, data: taken.data! });
    await clock.advance(RESYNC_MS);
    expect(works(store, `svc-${parseBearerToken(mine)!.accessKey}-${'c'.repeat(32)}`)).toBe('no');
    expect(works(store, mine)).toBe('now');
  });

  const PLANTED = { accessKey: 'b'.repeat(16), secretKey: 'c'.repeat(32) };
  const victim = withHashes({ accessKey: PLANTED.accessKey })(serviceToken('victim', { secretName: 'victim-token' }));
  const owner = job({ uid: 'uid-1' });
  const planted = secret(
    'job-token',
    PLANTED,
    ownedBy(owner),
    withLabels({ 'olapwarden.io/part': 'service-token-secret' }),
  );
  const hash = legacyHashSecret(owner, { accessKey: PLANTED.accessKey, secretHash: hashSecretKey(PLANTED.secretKey) });

  it.each([
    ['is that of another token', [victim, planted]],
    ['is the name of another token', [serviceToken(PLANTED.accessKey, {}), planted]],
    ['is that of another token, in a Secret like those of version 0.1', [victim, hash]],
  ])('is not accepted if the access key in a Secret that somebody created before it %s', async (_what, objects) => {
    for (const start of [run, runShown]) {
      const { store } = await start(owner, ...objects);
      expect(token(store).accessKey).not.toBe(PLANTED.accessKey);
      expect(works(store, `svc-${PLANTED.accessKey}-${PLANTED.secretKey}`)).toBe('no');
    }
  });

  it('is the one in its Secret in a folder if the access key is its own, and never in Kubernetes', async () => {
    const shown = await runShown(owner, planted, serviceToken('other', {}));
    expect(token(shown.store).accessKey).toBe(PLANTED.accessKey);
    const hidden = await run(owner, planted, serviceToken('other', {}));
    expect(token(hidden.store)).toMatchObject({ ready: 'False SecretNotOwned' });
    expect(token(hidden.store).accessKey).toBeUndefined();
  });
});

describe('the hashes of version 0.1', () => {
  const KEYS = { accessKey: 'a'.repeat(16), secretKey: 's'.repeat(32) };
  const bearer = `svc-${KEYS.accessKey}-${KEYS.secretKey}`;
  const old = `svc-${KEYS.accessKey}-${'o'.repeat(32)}`;
  const owner = job({ uid: 'uid-1' });
  const hash = legacyHashSecret(owner, {
    accessKey: KEYS.accessKey,
    secretHash: hashSecretKey(KEYS.secretKey),
    previousHash: hashSecretKey('o'.repeat(32)),
    previousExpiresAt: '2026-01-01T00:30:00Z',
  });
  const part = withLabels<Secret>({ 'olapwarden.io/part': 'service-token-secret' });
  const given = secret('job-token', KEYS, part, ownedBy(owner));

  /** Version 0.1 wrote the access key to the status. */
  const migrating = { ...owner, status: { accessKey: KEYS.accessKey } };

  it.each(['shown', 'read by its name'])(
    'move into the status, with the previous one (%s); their Secret stays for a return to that version',
    async (how) => {
      const stored = new FakeStore(migrating, hash, given, assign('a', 'job'));
      const read = { ...hidingSecrets(stored), read: stored.read.bind(stored) };
      const { store, clock } = await runOn(stored, how === 'shown' ? stored : read);
      expect([works(store, bearer), works(store, old)]).toEqual(['now', 'still']);
      expect(token(store).ready).toBe('True Active');
      expect(store.get('Secret', 'job-hash')).toMatchObject(hash);
      await clock.advance(GRACE_MS);
      expect([works(store, bearer), works(store, old)]).toEqual(['now', 'no']);
    },
  );

  it('are deleted when the token is rotated, because they are those of an old token then', async () => {
    const { store, settle } = await runShown(owner, hash, given);
    await annotate(store, 'now');
    await settle();
    expect([works(store, bearer), works(store, bearerOf(store))]).toEqual(['still', 'now']);
    expect(store.get('Secret', 'job-hash')).toBeUndefined();
  });

  it.each([
    ['with a Secret', migrating],
    ['from REST', { ...byGateway(serviceToken(KEYS.accessKey, {})), status: { accessKey: KEYS.accessKey } }],
  ])('that may not be read leave the token as it is, and say so (%s)', async (_what, object) => {
    const { name } = object.metadata;
    const { store, clock } = await run(object, given);
    for (const ms of [0, 60_000, RESYNC_MS]) {
      await clock.advance(ms);
      expect(token(store, name)).toMatchObject({ ready: 'False HashNotReadable', accessKey: KEYS.accessKey });
    }
    expect(store.writes.filter((write) => !write.startsWith('status'))).toEqual([]);
  });

  it('are those of a token from REST, also if another token has its access key already', async () => {
    const byRest = serviceToken(KEYS.accessKey, {}, withMeta({ uid: 'uid-1' }));
    const other = withHashes({ accessKey: KEYS.accessKey })(serviceToken('other', { secretName: 'other-token' }));
    const values = { accessKey: KEYS.accessKey, secretHash: hashSecretKey(KEYS.secretKey) };
    const { store } = await runShown(byRest, other, legacyHashSecret(byRest, values));
    expect(token(store, KEYS.accessKey).accessKey).toBe(KEYS.accessKey);
  });

  it('are ignored if their access key is not the name of a token without secretName, if they are of another object, or if the status has a hash', async () => {
    const byRest = (uid: string) => serviceToken('job', {}, withMeta({ uid }));
    const objects = [
      byRest('uid-1'),
      job({ uid: 'uid-2' }),
      withHashes({ accessKey: 'b'.repeat(16) })(byRest('uid-1')),
    ];
    for (const object of objects) {
      const { store } = await runShown(object, hash);
      expect(works(store, bearer)).toBe('no');
    }
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

  it('a second time keeps every previous token valid until the time that its Event named', async () => {
    const { store, clock, settle, recorder } = await run(job());
    const tokens = [bearerOf(store)];
    for (const value of ['1', '2', '3']) {
      await annotate(store, value);
      await settle();
      tokens.push(bearerOf(store));
      await clock.advance(60_000);
    }
    const states = (): string[] => tokens.map((one) => works(store, one, clock.now()));
    expect(states()).toEqual(['still', 'still', 'still', 'now']);
    const named = recorder.events.flatMap((line) => /previous token is valid until (\S+)$/.exec(line)?.[1] ?? []);
    expect(named).toEqual(['2026-01-01T01:00:00Z', '2026-01-01T01:01:00Z', '2026-01-01T01:02:00Z']);
    await clock.advance(GRACE_MS - 3 * 60_000 - 1);
    expect(states()).toEqual(['still', 'still', 'still', 'now']);
    for (const expected of [
      ['no', 'still', 'still', 'now'],
      ['no', 'no', 'still', 'now'],
      ['no', 'no', 'no', 'now'],
    ]) {
      await clock.advance(1);
      expect(states()).toEqual(expected);
      await clock.advance(59_999);
    }
    expect(token(store).previousHashes).toBeUndefined();
  });

  it('waits if eight previous tokens are valid, and says so once', async () => {
    const { store, clock, settle, recorder } = await run(job());
    const tokens: string[] = [];
    for (let value = 1; value <= 9; value++) {
      tokens.push(bearerOf(store));
      await annotate(store, String(value));
      await settle();
    }
    expect(token(store)).toMatchObject({ observedRotateAt: '8' });
    expect(tokens.slice(0, 8).map((one) => works(store, one))).toEqual(Array.from({ length: 8 }, () => 'still'));
    expect(works(store, tokens[8]!)).toBe('now');
    await clock.advance(GRACE_MS / 2);
    expect(
      recorder.events.filter((line) => line.includes('the rotation waits until 2026-01-01T01:00:00Z')),
    ).toHaveLength(1);
    await clock.advance(GRACE_MS / 2);
    expect(token(store)).toMatchObject({ observedRotateAt: '9' });
    expect(works(store, tokens[8]!)).toBe('still');
  });

  it.each([0, 1, 2, 3, 4])(
    'that is interrupted after %i writes leaves no Secret that is not valid, and is completed once',
    async (done) => {
      const first = await run(job());
      const old = bearerOf(first.store);
      await first.stop();
      await annotate(first.store, 'now');
      const cut = await cutOff(done, first.store.get('ServiceToken', 'job')!, first.store.get('Secret', 'job-token')!);
      expect(works(cut, old)).not.toBe('no');
      const left = cut.list('Secret');
      if (left.length > 0) expect(works(cut, bearerOf(cut))).not.toBe('no');
      const after = await run(cut.get('ServiceToken', 'job')!, ...left);
      expect([works(after.store, bearerOf(after.store)), works(after.store, old)]).toEqual(['now', 'still']);
      expect(token(after.store).observedRotateAt).toBe('now');
      if (done >= 3) expect(bearerOf(after.store)).toBe(bearerOf(cut));
    },
  );
});

describe('a token created through REST', () => {
  const owner = serviceToken('job', {}, withMeta({ uid: 'uid-1' }));
  const hashed = withHashes({ accessKey: 'a'.repeat(16), secretHash: hashSecretKey('s'.repeat(32)) })(owner);

  it('needs no Secret', async () => {
    const { store } = await run(hashed, assign('a', 'a'.repeat(16)));
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
    const { store, clock } = await run(byGateway(owner));
    await clock.advance(59_000);
    expect(store.get('ServiceToken', 'job')).toBeDefined();
    await clock.advance(1_000);
    expect(store.get('ServiceToken', 'job')).toBeUndefined();
  });

  it.each(['2025-12-31T00:00:00Z', '2026-01-02T00:00:00Z'])(
    'is given the same minute where the clock of the Kubernetes API is that of %s',
    async (creationTimestamp) => {
      const byRest = withMeta<ServiceToken>({
        labels: { 'app.kubernetes.io/managed-by': 'olap-warden' },
        annotations: { 'olapwarden.io/created-by': 'srn2:user#ada@example.com' },
        creationTimestamp,
      })(owner);
      const { store, clock } = await run(byRest);
      await clock.advance(59_000);
      expect(store.get('ServiceToken', 'job')).toBeDefined();
      await clock.advance(1_000);
      expect(store.get('ServiceToken', 'job')).toBeUndefined();
    },
  );

  it('is deleted with its roles if a gateway ended while it deleted it, and not before', async () => {
    const marked = (author: string): ServiceToken => ({
      ...withMeta<ServiceToken>({ annotations: { 'olapwarden.io/last-updated-by': author } })(hashed),
      spec: { expiresAt: '1970-01-01T00:00:00Z' },
    });
    const both = roleAssignment('both', {
      subjects: [
        { type: 'group', name: 'job' },
        { type: 'service-token', name: 'a'.repeat(16) },
      ],
    });
    const { store, clock } = await run(marked('srn2:user#ada@example.com'), assign('alone', 'job'), both);
    await clock.advance(59_000);
    expect(store.get('ServiceToken', 'job')).toBeDefined();
    await clock.advance(1_000);
    expect(store.get('ServiceToken', 'job')).toBeUndefined();
    expect(store.get('RoleAssignment', 'alone')).toBeUndefined();
    expect(store.get('RoleAssignment', 'both')?.spec.subjects).toEqual([{ type: 'group', name: 'job' }]);

    const byHand = await run(marked('kubernetes-admin'));
    await byHand.clock.advance(600_000);
    expect(byHand.store.get('ServiceToken', 'job')).toBeDefined();
  });

  it('cannot be rotated, and records one Event', async () => {
    const { store, recorder, settle } = await run(hashed, assign('a', 'job'));
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

  it('is announced 24 hours before, with one Event, and reported when it happens', async () => {
    const spec = { secretName: 'job-token', expiresAt: '2026-01-03T00:00:00Z' };
    const { store, clock, recorder } = await run(serviceToken('job', spec), assign('a', 'job'));
    await clock.advance(24 * 3_600_000 - 1);
    expect(token(store).ready).toBe('True Active');
    await clock.advance(1);
    expect(token(store)).toMatchObject({ state: 'Active', ready: 'True Expiring' });
    await clock.advance(24 * 3_600_000);
    expect(token(store).ready).toBe('False Expired');
    const reasons = recorder.events.filter((line) => line.includes('2026-01-03') || line.includes('has expired'));
    expect(reasons).toHaveLength(2);
  });

  it('creates nothing for a token that is expired from the start', async () => {
    const { store } = await run(serviceToken('job', { secretName: 'job-token', expiresAt: '2025-01-01T00:00:00Z' }));
    expect(token(store).state).toBe('Expired');
    expect(store.list('Secret')).toEqual([]);
  });

  it('deletes the Secrets of a folder; in Kubernetes the garbage collector does', async () => {
    const { store, settle } = await runShown(job(), secret('other'));
    await store.create(
      'Secret',
      legacyHashSecret(store.get('ServiceToken', 'job')!, { accessKey: 'a', secretHash: 'b' }),
    );
    await store.delete('ServiceToken', 'job');
    await settle();
    expect(store.list('Secret').map(({ metadata }) => metadata.name)).toEqual(['other']);
    const hidden = await run(job());
    await hidden.store.delete('ServiceToken', 'job');
    await hidden.settle();
    expect(hidden.store.writes.filter((write) => write.startsWith('delete Secret'))).toEqual([]);
  });

  it('gives a new token of the same name a new Secret', async () => {
    const { store } = await run(job());
    const old = bearerOf(store);
    const kept = store.get('Secret', 'job-token')!;
    const again = serviceToken('job', { secretName: 'job-token' }, withMeta({ uid: 'another' }));
    const shown = await runShown(again, kept);
    expect([works(shown.store, old), works(shown.store, bearerOf(shown.store))]).toEqual(['no', 'now']);
    // The garbage collector needs some seconds.
    const hidden = await run(
      { ...again, metadata: { ...again.metadata, creationTimestamp: '2026-01-01T00:00:00Z' } },
      kept,
    );
    expect([token(hidden.store).ready, works(hidden.store, old)]).toEqual(['False SecretNotOwned', 'no']);
    await hidden.store.delete('Secret', 'job-token');
    await hidden.clock.advance(5_000);
    expect([works(hidden.store, old), works(hidden.store, bearerOf(hidden.store))]).toEqual(['no', 'now']);
  });
});

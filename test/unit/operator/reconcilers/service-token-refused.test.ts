import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hashesOf, secretKeyMatches } from '../../../../src/access/service-token.ts';
import { Controller } from '../../../../src/operator/controller/controller-loop.ts';
import { serviceTokenReconciler } from '../../../../src/operator/reconcilers/service-token.ts';
import type { ResourceKind, ServiceToken } from '../../../../src/resources/kinds.ts';
import { StoreError, type StoreErrorCode } from '../../../../src/store/resource-store.ts';
import { roleAssignment, serviceToken, withAnnotations } from '../../../builders/resources.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { FakeRecorder, FakeStore, metrics, silent } from '../fakes.ts';

/** Then writes succeed, because a loop without a pause would not let the clock advance. */
const MANY_WRITES = 200;
const GRACE_MS = 3_600_000;

/** A store that refuses writes of Secrets, as the API server does for an immutable Secret, a full quota or an admission webhook that fails. */
class RefusingStore extends FakeStore {
  code: StoreErrorCode | undefined;
  attempts = 0;
  /** Of another client, after the next write of a status and before its response. */
  meanwhile: (() => Promise<unknown>) | undefined;

  override async updateStatus(...write: Parameters<FakeStore['updateStatus']>): Promise<never> {
    const written = await super.updateStatus(...write);
    const { meanwhile } = this;
    this.meanwhile = undefined;
    await meanwhile?.();
    return written as never;
  }

  override async create(...write: Parameters<FakeStore['create']>): Promise<never> {
    this.#refuse(write[0]);
    return (await super.create(...write)) as never;
  }

  #refuse(kind: ResourceKind): void {
    if (kind !== 'Secret' || this.code === undefined || this.attempts === MANY_WRITES) return;
    this.attempts++;
    throw new StoreError(this.code, 'the Secret cannot be written');
  }
}

let store: RefusingStore;
let clock: FakeClock;
let recorder: FakeRecorder;
let controller: Controller<'ServiceToken', never>;

beforeEach(() => {
  [clock, recorder] = [new FakeClock(), new FakeRecorder()];
  store = new RefusingStore(
    serviceToken('job', { secretName: 'job-token' }),
    roleAssignment('analysts', { subjects: [{ type: 'service-token', name: 'job' }] }),
  );
  const ports = { store, recorder, clock, metrics: metrics(), log: silent };
  controller = new Controller(serviceTokenReconciler({ graceMs: GRACE_MS }), ports) as never;
});
afterEach(() => controller.stop());

const object = (): ServiceToken => store.get('ServiceToken', 'job')!;
const ready = (): string => {
  const found = object().status?.conditions?.find(({ type }) => type === 'Ready');
  return `${found?.status} ${found?.reason}`;
};

/** Whether the token in the Secret is the current one, a previous one, or none. */
function secretIs(): 'current' | 'previous' | 'invalid' {
  const secretKey = Buffer.from(store.get('Secret', 'job-token')?.data?.['secretKey'] ?? '', 'base64').toString();
  const hashes = hashesOf(object());
  if (hashes && secretKeyMatches(secretKey, hashes.secretHash)) return 'current';
  return hashes?.previousHashes.some(({ hash }) => secretKeyMatches(secretKey, hash)) ? 'previous' : 'invalid';
}

async function requestRotation(value: string): Promise<void> {
  await store.update('ServiceToken', withAnnotations<ServiceToken>({ 'olapwarden.io/rotate-at': value })(object()));
  await clock.advance(0);
}

describe('a rotation whose Secret cannot be written', () => {
  it.each(['invalid', 'forbidden'] as const)(
    'is reported (%s), keeps the token before it valid for the grace period, and is made when it can be written',
    async (code) => {
      controller.start();
      await clock.advance(0);
      store.code = code;
      const before = hashesOf(object())?.secretHash;
      await requestRotation('monday');
      for (const ms of [0, 30_000, 600_000]) {
        await clock.advance(ms);
        expect(ready()).toBe(code === 'invalid' ? 'False Refused' : 'False Forbidden');
        expect(hashesOf(object())?.previousHashes.map(({ hash }) => hash)).toEqual([before]);
      }
      store.code = undefined;
      await clock.advance(60_000);
      expect(object().status).toMatchObject({ observedRotateAt: 'monday', rotatedAt: expect.any(String) });
      expect([ready(), secretIs()]).toEqual(['True Active', 'current']);
      expect(object().status?.previousHashes).toHaveLength(1);
    },
  );

  it('is tried again at once when somebody changes an annotation while its status is written', async () => {
    controller.start();
    await clock.advance(0);
    store.code = 'invalid';
    store.meanwhile = async () =>
      store.update('ServiceToken', withAnnotations<ServiceToken>({ 'olapwarden.io/rotate-at': 'tuesday' })(object()));
    await requestRotation('monday');
    await clock.advance(0);
    expect(store.attempts).toBe(2);
    expect(object().status?.observedRotateAt).toBe('tuesday');
  });

  it('has one Event for the refusal, however often it is repeated', async () => {
    controller.start();
    await clock.advance(0);
    store.code = 'invalid';
    recorder.events.length = 0;
    await requestRotation('monday');
    await clock.advance(600_000);
    expect(recorder.events).toEqual(['Warning Refused job: the Secret cannot be written']);
  });

  it('leaves the token before it valid while the API server fails', async () => {
    controller.start();
    await clock.advance(0);
    const before = hashesOf(object())?.secretHash;
    store.code = 'unavailable';
    await requestRotation('monday');
    await clock.advance(60_000);
    expect(hashesOf(object())?.previousHashes.map(({ hash }) => hash)).toEqual([before]);
    store.code = undefined;
    await clock.advance(60_000);
    expect([secretIs(), object().status?.observedRotateAt]).toEqual(['current', 'monday']);
  });
});

describe('a first token whose Secret cannot be written', () => {
  it.each(['invalid', 'forbidden', 'already-exists'] as const)('has no hash in the status (%s)', async (code) => {
    store.code = code;
    controller.start();
    await clock.advance(60_000);
    expect(object().status).not.toHaveProperty('secretHash');
    expect(object().status).not.toHaveProperty('rotatedAt');
    expect(object().status?.state).toBe('Unassigned');
    store.code = undefined;
    await clock.advance(60_000);
    expect([ready(), secretIs()]).toEqual(['True Active', 'current']);
  });
});

describe('a Secret that was deleted and cannot be written', () => {
  it('ends the lost token at once', async () => {
    controller.start();
    await clock.advance(0);
    const lost = hashesOf(object())?.secretHash;
    store.code = 'forbidden';
    await store.delete('Secret', 'job-token');
    await clock.advance(0);
    expect(hashesOf(object())?.secretHash).not.toBe(lost);
    expect(object().status).not.toHaveProperty('previousHashes');
    expect(ready()).toBe('False Forbidden');
  });
});

describe('the operator pauses between its attempts to write a Secret', () => {
  const causes: Readonly<Record<string, () => Promise<unknown>>> = {
    'a first token': async () => undefined,
    'a rotation': () => requestRotation('monday'),
    'a lost Secret': () => store.delete('Secret', 'job-token'),
  };

  it.each(
    Object.entries(causes).flatMap(([what, cause]) =>
      (['invalid', 'forbidden', 'unavailable'] as const).map((code) => [what, code, cause] as const),
    ),
  )('for %s (%s)', async (what, code, cause) => {
    if (what !== 'a first token') {
      controller.start();
      await clock.advance(0);
    }
    store.code = code;
    store.writes.length = 0;
    await cause();
    if (what === 'a first token') controller.start();
    await clock.advance(60_000);
    expect(store.attempts).toBeLessThan(20);
    expect(store.writes.length).toBeLessThan(40);
  });
});

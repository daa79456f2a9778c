import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Controller } from '../../../../src/operator/controller/controller-loop.ts';
import { fencedStore } from '../../../../src/operator/leader/fenced-store.ts';
import { READY } from '../../../../src/operator/controller/outcome.ts';
import type { Plan, StatusOf } from '../../../../src/operator/controller/plan.ts';
import type { ReconciledObject } from '../../../../src/operator/controller/reconciler.ts';
import { StoreError } from '../../../../src/store/resource-store.ts';
import { role, secret, withMeta } from '../../../builders/resources.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { until } from '../../../support/until.ts';
import { FakeRecorder, FakeStore, loggedLines, metrics, silent } from '../fakes.ts';

type RolePlan = Plan<StatusOf<'Role'>>;
const ready: RolePlan = { actions: [], status: { outcome: READY, fields: { policyCount: 2 } } };

let clock: FakeClock;
let store: FakeStore;
let recorder: FakeRecorder;
let registry: Registry;
let plan: () => RolePlan;
let reconciled: number;
let log: Logger;
let controller: Controller<'Role', ReconciledObject<'Role'>>;

function start(...objects: ConstructorParameters<typeof FakeStore>): void {
  store = new FakeStore(...objects);
  controller = new Controller(
    {
      kind: 'Role',
      watches: [{ kind: 'Secret', keysOf: ({ object }) => [object.metadata.name] }],
      observe: (from, name) => ({ object: from.get('Role', name) }),
      reconcile() {
        reconciled++;
        return plan();
      },
    },
    { store, recorder, clock, metrics: metrics(registry), log },
  );
  controller.start();
}

beforeEach(() => {
  [clock, recorder, registry, reconciled] = [new FakeClock(), new FakeRecorder(), new Registry(), 0];
  plan = () => ready;
  log = silent;
});
afterEach(() => controller.stop());

async function results(): Promise<Record<string, number>> {
  const { values } = await registry.getSingleMetric('controller_runtime_reconcile_total')!.get();
  return Object.fromEntries(values.map(({ labels, value }) => [String(labels['result']), value]));
}

describe('the status', () => {
  it('gets srn, observedGeneration and conditions, and is written once', async () => {
    start(role('analysts'));
    await clock.advance(60_000);
    expect(store.writes).toEqual(['status Role/analysts']);
    expect(store.get('Role', 'analysts')?.status).toEqual({
      srn: 'srn2:role#analysts',
      observedGeneration: 1,
      policyCount: 2,
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          observedGeneration: 1,
          lastTransitionTime: '2026-01-01T00:00:00Z',
          reason: 'Ready',
          message: 'the resource is ready',
        },
      ],
    });
    expect(await results()).toEqual({ success: 2 });
  });

  it('is written only when it changed, also at the resync', async () => {
    start(role('analysts'));
    await clock.advance(11 * 60_000);
    expect(reconciled).toBe(3);
    expect(store.writes).toHaveLength(1);
    plan = () => ({ actions: [], status: { outcome: READY, fields: { policyCount: 3 } } });
    await clock.advance(11 * 60_000);
    expect(store.writes).toHaveLength(2);
  });

  it('records an Event when the reason changes, none for a first Ready or a changed number', async () => {
    start(role('analysts'));
    await clock.advance(0);
    plan = () => ({ actions: [], status: { outcome: READY, fields: { policyCount: 3 } } });
    await clock.advance(11 * 60_000);
    plan = () => ({ actions: [], status: { outcome: { class: 'stalled', reason: 'Bad', message: 'no' }, fields: {} } });
    await clock.advance(11 * 60_000);
    plan = () => ready;
    await clock.advance(11 * 60_000);
    expect(recorder.events).toEqual(['Warning Bad analysts: no', 'Normal Ready analysts: the resource is ready']);
  });
});

describe('an error', () => {
  it('of a conflict is retried at once with the current object', async () => {
    start(role('analysts'));
    store.failures.push(new StoreError('conflict', 'changed meanwhile'));
    await clock.advance(5);
    expect(store.writes).toEqual(['status Role/analysts']);
  });

  it('of the store is retried with growing delays until it succeeds, then the backoff is reset', async () => {
    start(role('analysts'));
    store.failures.push(...Array.from({ length: 5 }, () => new StoreError('unavailable', 'away')));
    await clock.advance(5 + 10 + 20 + 40 + 79);
    expect(store.writes).toEqual([]);
    await clock.advance(1);
    expect(store.writes).toEqual(['status Role/analysts']);
    expect((await results())['error']).toBe(5);
  });

  it('waits as long as Retry-After says', async () => {
    start(role('analysts'));
    store.failures.push(new StoreError('unavailable', 'slow down', { retryAfterMs: 7000 }));
    await clock.advance(6999);
    expect(store.writes).toEqual([]);
    await clock.advance(1);
    expect(store.writes).toHaveLength(1);
  });

  it('that the user must fix is written to the status and retried after a minute', async () => {
    const ifExists = {
      class: 'stalled',
      reason: 'SecretNotOwned',
      message: 'Secret `s` belongs to another object',
    } as const;
    plan = () => ({ ...ready, actions: [{ do: 'create', kind: 'Secret', object: secret('s'), ifExists }] });
    start(role('analysts'), secret('s'));
    await clock.advance(0);
    const conditions = store.get('Role', 'analysts')?.status?.conditions;
    expect(conditions?.map(({ type, status, reason }) => [type, status, reason])).toEqual([
      ['Ready', 'False', 'SecretNotOwned'],
      ['Stalled', 'True', 'SecretNotOwned'],
    ]);
    await store.delete('Secret', 's');
    await clock.advance(60_000);
    expect(store.get('Secret', 's')).toBeDefined();
    expect(store.writes.filter((write) => write.startsWith('create'))).toHaveLength(1);
  });

  it.each(['invalid', 'forbidden'] as const)('of the code %s stalls the object', async (code) => {
    plan = () => ({ ...ready, actions: [{ do: 'create', kind: 'Secret', object: secret('s') }] });
    start(role('analysts'));
    store.create = async () => Promise.reject(new StoreError(code, 'the API server says no'));
    await clock.advance(0);
    expect(store.get('Role', 'analysts')?.status?.conditions?.[1]).toMatchObject({
      type: 'Stalled',
      message: 'the API server says no',
    });
  });

  it('that all of 15,000 objects have is logged fewer than ten times', { tags: 'slow' }, async () => {
    const { lines, ...kept } = loggedLines();
    log = kept.log;
    start(...Array.from({ length: 15_000 }, (_, index) => role(`r${index}`)));
    store.failures.push(...Array.from({ length: 15_000 }, () => new StoreError('unavailable', 'slow down')));
    await until('every write failed', () => store.failures.length === 0);
    expect(lines.length).toBeLessThan(10);
    const msg = 'reconciliation failed; retrying';
    expect(lines[0]).toMatchObject({ msg, code: 'unavailable', error: 'slow down', suppressed: 0 });
  });

  it('in the reconciler stops neither other objects nor the retry', async () => {
    start(role('a'), role('b'));
    let first = true;
    plan = () => {
      if (!first) return ready;
      first = false;
      throw new TypeError('a bug');
    };
    await clock.advance(5);
    expect(store.writes.sort()).toEqual(['status Role/a', 'status Role/b']);
  });
});

describe('the loop', () => {
  it('reconciles when an object of a watched kind changes', async () => {
    start(role('analysts'));
    await clock.advance(0);
    const before = reconciled;
    await store.create('Secret', secret('analysts'));
    await clock.advance(0);
    expect(reconciled).toBe(before + 1);
  });

  it('reconciles after the time in the plan', async () => {
    plan = () => ({ ...ready, requeueAfterMs: 3000 });
    start(role('analysts'));
    await clock.advance(0);
    const before = reconciled;
    await clock.advance(2999);
    expect(reconciled).toBe(before);
    await clock.advance(1);
    expect(reconciled).toBe(before + 1);
  });

  it('skips objects that are being deleted', async () => {
    start(role('analysts', {}, withMeta({ deletionTimestamp: '2026-01-01T00:00:00Z' })));
    await clock.advance(1000);
    expect([reconciled, store.writes]).toEqual([0, []]);
  });

  it('does nothing after it was stopped', async () => {
    start(role('analysts'));
    await clock.advance(0);
    await controller.stop();
    const before = reconciled;
    await store.create('Role', role('late'));
    await clock.advance(3_600_000);
    expect(reconciled).toBe(before);
  });
});

describe('a fenced store', () => {
  it('rejects writes and allows reads while another process leads', async () => {
    const inner = new FakeStore(role('a'));
    let leads = false;
    const fenced = fencedStore(inner, () => leads);
    const a = fenced.get('Role', 'a')!;
    await expect(fenced.create('Role', role('b'))).rejects.toThrow('is not the leader');
    await expect(fenced.update('Role', a)).rejects.toThrow('is not the leader');
    await expect(fenced.updateStatus('Role', a)).rejects.toThrow('is not the leader');
    await expect(fenced.delete('Role', 'a')).rejects.toThrow('is not the leader');
    expect(inner.writes).toEqual([]);
    expect(fenced.list('Role')).toHaveLength(1);
    leads = true;
    await fenced.updateStatus('Role', a);
    expect(inner.writes).toEqual(['status Role/a']);
  });
});

import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Controller } from '../../../../src/operator/controller/controller-loop.ts';
import { NotLeaderError } from '../../../../src/operator/leader/fenced-store.ts';
import { READY } from '../../../../src/operator/controller/outcome.ts';
import type { Plan, StatusOf } from '../../../../src/operator/controller/plan.ts';
import type { ReconciledObject } from '../../../../src/operator/controller/reconciler.ts';
import { role, secret } from '../../../builders/resources.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { FakeRecorder, FakeStore, loggedLines, metrics } from '../fakes.ts';

type RolePlan = Plan<StatusOf<'Role'>>;
const ready: RolePlan = { actions: [], status: { outcome: READY, fields: { policyCount: 2 } } };

let clock: FakeClock;
let store: FakeStore;
let recorder: FakeRecorder;
let registry: Registry;
let plan: RolePlan;
let reconciled: string[];
let lines: Record<string, unknown>[];
let observing: () => Promise<void>;
let controller: Controller<'Role', ReconciledObject<'Role'>>;

beforeEach(() => {
  [clock, recorder, registry, plan, reconciled] = [new FakeClock(), new FakeRecorder(), new Registry(), ready, []];
  clock.jump(100_000);
  observing = async () => undefined;
});
afterEach(() => controller.stop());

function start(...names: string[]): void {
  const logged = loggedLines();
  ({ lines } = logged);
  store = new FakeStore(...names.map((name) => role(name)));
  controller = new Controller(
    {
      kind: 'Role',
      watches: [],
      async observe(from, name) {
        reconciled.push(name);
        await observing();
        return { object: from.get('Role', name) };
      },
      reconcile: () => plan,
    },
    { store, recorder, clock, metrics: metrics(registry), log: logged.log },
  );
  controller.start();
}

/** The value of the first sample whose line begins with this text. */
async function value(sample: string): Promise<number> {
  const line = (await registry.metrics()).split('\n').find((text) => text.startsWith(sample));
  return Number(line?.split(' ').at(-1));
}

it('reconciles four objects at once', async () => {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  observing = async () => released;
  start(...Array.from({ length: 10 }, (_, index) => `r${index}`));
  await clock.advance(0);
  expect(reconciled).toHaveLength(4);
  expect(await value('controller_runtime_active_workers')).toBe(4);
  expect(await value('controller_runtime_max_concurrent_reconciles')).toBe(4);
  release();
  await clock.advance(0);
  expect(await value('controller_runtime_active_workers')).toBe(0);
});

it('neither retries nor logs a write that was rejected because another process leads', async () => {
  start('a');
  store.failures.push(new NotLeaderError());
  await clock.advance(60_000);
  expect([store.failures, store.writes, reconciled, lines]).toEqual([[], [], ['a'], []]);
});

describe('an object that is stalled', () => {
  const stalling = (more: Partial<RolePlan>): RolePlan => {
    const ifExists = { class: 'stalled', reason: 'NameTaken', message: 'no' } as const;
    return { ...ready, actions: [{ do: 'create', kind: 'Secret', object: secret('s'), ifExists }], ...more };
  };

  it.each([
    [{}, 60_000],
    [{ requeueAfterMs: 5_000 }, 5_000],
    [{ requeueAfterMs: 90_000 }, 60_000],
  ])('by the plan %j is reconciled after %i ms', async (more, ms) => {
    plan = stalling(more);
    start('a');
    await store.create('Secret', secret('s'));
    // The status that it writes does not begin another reconciliation.
    await clock.advance(ms - 1);
    expect(reconciled).toEqual(['a']);
    await clock.advance(1);
    expect(reconciled).toEqual(['a', 'a']);
  });
});

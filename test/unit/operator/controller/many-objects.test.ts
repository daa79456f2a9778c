// @module-tag slow
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { KubernetesEvents } from '../../../../src/kubernetes/events.ts';
import type { KubernetesTransport } from '../../../../src/kubernetes/transport.ts';
import { Controller } from '../../../../src/operator/controller/controller-loop.ts';
import { roleReconciler } from '../../../../src/operator/reconcilers/role.ts';
import { policy, role } from '../../../builders/resources.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { until } from '../../../support/until.ts';
import { FakeStore, loggedLines, metrics } from '../fakes.ts';

const OBJECTS = 15_000;

it('15,000 objects that wait and then become ready have fewer than 200 Events and 10 log lines', async () => {
  const posted: Record<string, unknown>[] = [];
  const transport = {
    namespace: 'olap',
    request: async (_method: string, _path: string, { body }: { body: Record<string, unknown> }) => posted.push(body),
  } as unknown as KubernetesTransport;
  const [clock, registry, { log, lines }] = [new FakeClock(), new Registry(), loggedLines()];
  const counters = metrics(registry);
  const recorder = new KubernetesEvents({
    transport,
    clock,
    onDropped: () => counters.eventDropped(),
    log,
    instance: 'pod-1',
  });
  const store = new FakeStore(
    ...Array.from({ length: OBJECTS }, (_, index) => role(`r${index}`, { policies: ['read'] })),
  );
  const controller = new Controller(roleReconciler(), { store, recorder, clock, metrics: counters, log });
  controller.start();
  await until('each role waits', () => store.writes.length === OBJECTS);
  await store.create('Policy', policy('read'));
  await until('each role is ready', () => store.writes.length === 2 * OBJECTS + 1);
  await controller.stop();
  await recorder.close();
  expect(store.get('Role', `r${OBJECTS - 1}`)?.status?.conditions).toMatchObject([{ type: 'Ready', status: 'True' }]);
  expect(new Set(posted.map(({ reason }) => reason))).toEqual(new Set(['PolicyNotFound', 'Ready']));
  expect(posted.length).toBeLessThan(200);
  expect(lines.length).toBeLessThan(10);
  const { values } = await registry.getSingleMetric('olapwarden_operator_events_dropped_total')!.get();
  expect(values[0]?.value).toBe(2 * OBJECTS - posted.length);
});

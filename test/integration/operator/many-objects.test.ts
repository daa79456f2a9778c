import { pino } from 'pino';
import { afterEach, expect, it } from 'vitest';
import type { Condition } from '../../../src/resources/meta.ts';
import { policy, role } from '../../builders/resources.ts';
import { sharedControlPlane } from '../../support/control-plane.ts';
import { eventually, runOperator, type RunningOperator } from '../../support/operator.ts';

/** Enough for every limit; test/unit/operator/controller/many-objects.test.ts has 15,000. */
const OBJECTS = 1_500;

interface List {
  readonly items: { readonly reason?: string; readonly status?: { readonly conditions?: readonly Condition[] } }[];
}

let running: RunningOperator | undefined;
afterEach(() => running?.stop());

it('many objects applied at once have few Events and log lines', async () => {
  const api = await sharedControlPlane();
  await api.applyCrds();
  const namespace = await api.createNamespace('many');
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  running = runOperator(api.kubeconfigPath, namespace, { log });
  const { transport, operator, store } = running;
  await eventually(() => operator.isLeader(), Boolean);
  const items = Array.from({ length: OBJECTS }, (_, index) => role(`r${index}`, { policies: ['absent'] }));
  await api.mustKubectl(['create', '-n', namespace, '-f', '-'], {
    input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
  });
  const withReason = (reason: string) =>
    store.list('Role').filter(({ status }) => status?.conditions?.some((condition) => condition.reason === reason))
      .length;
  await eventually(
    () => withReason('PolicyNotFound'),
    (count) => count === OBJECTS,
  );
  await store.create('Policy', policy('absent'));
  await eventually(
    () => withReason('PolicyNotFound'),
    (count) => count === 0,
  );
  const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
  const events = await eventually(
    async () => (await transport.request<List>('GET', path)).body.items,
    (found) => found.some(({ reason }) => reason === 'Ready'),
  );
  expect(events.length).toBeLessThan(200);
  expect(lines.length, lines.join('')).toBeLessThan(10);
});

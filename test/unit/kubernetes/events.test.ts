import { Registry } from 'prom-client';
import { beforeEach, expect, it } from 'vitest';
import { KubernetesEvents } from '../../../src/kubernetes/events.ts';
import type { KubernetesTransport } from '../../../src/kubernetes/transport.ts';
import { role, stored } from '../../builders/resources.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { metrics, silent } from '../operator/fakes.ts';

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body: Record<string, unknown>;
}

let sent: Sent[];
let answer: () => Promise<void>;
/** Rejects the current call when its signal aborts, as the transport does. */
let cut: () => void;
let clock: FakeClock;
let registry: Registry;
let events: KubernetesEvents;

beforeEach(() => {
  [sent, clock, registry] = [[], new FakeClock(), new Registry()];
  [answer, cut] = [async () => {}, () => {}];
  const transport = {
    namespace: 'olap',
    async request(
      method: string,
      path: string,
      { body, signal }: { body: Record<string, unknown>; signal: AbortSignal },
    ) {
      signal.addEventListener('abort', () => cut());
      await answer();
      sent.push({ method, path, body });
    },
  } as unknown as KubernetesTransport;
  const counters = metrics(registry);
  events = new KubernetesEvents({
    transport,
    clock,
    onDropped: () => counters.eventDropped(),
    log: silent,
    instance: 'pod-1',
  });
});

const analysts = role('analysts', {}, stored());

async function dropped(): Promise<number> {
  return (await registry.getSingleMetric('olapwarden_operator_events_dropped_total')!.get()).values[0]?.value ?? 0;
}

it('sends an Event of events.k8s.io/v1 about the object', async () => {
  events.record(analysts, 'Normal', 'Ready', 'the resource is ready');
  await events.close();
  expect(sent).toHaveLength(1);
  expect(sent[0]).toMatchObject({
    method: 'POST',
    path: '/apis/events.k8s.io/v1/namespaces/olap/events',
    body: {
      type: 'Normal',
      reason: 'Ready',
      note: 'the resource is ready',
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'olapwarden.io/operator',
      reportingInstance: 'pod-1',
      regarding: { kind: 'Role', name: 'analysts', namespace: 'olap', uid: 'uid-of-analysts' },
    },
  });
});

it('increases the count of a repeated Event within six minutes, and sends a new one later', async () => {
  for (let time = 0; time < 3; time++) {
    events.record(analysts, 'Warning', 'Bad', 'no');
    await events.close();
    clock.jump(60_000);
  }
  expect(sent.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'PATCH']);
  expect(sent[2]?.body).toEqual({ series: { count: 3, lastObservedTime: '2026-01-01T00:02:00.000000Z' } });
  clock.jump(6 * 60_000);
  events.record(analysts, 'Warning', 'Bad', 'no');
  events.record(analysts, 'Warning', 'Bad', 'something else');
  await events.close();
  expect(sent.slice(3).map(({ method }) => method)).toEqual(['POST', 'POST']);
  expect(new Set(sent.map(({ body }) => (body['metadata'] as { name: string } | undefined)?.name)).size).toBe(4);
});

it('sends further Events after a failed one, counts that one, and starts no series with it', async () => {
  answer = async () => Promise.reject(new Error('away'));
  events.record(analysts, 'Normal', 'Ready', 'x');
  await events.close();
  answer = async () => {};
  events.record(analysts, 'Normal', 'Ready', 'x');
  await events.close();
  expect(sent.map(({ method }) => method)).toEqual(['POST']);
  expect(await dropped()).toBe(1);
});

it('queues a thousand Events while the API server does not answer, and counts the dropped ones', async () => {
  let release = (): void => {};
  const blocked = new Promise<void>((resolve) => (release = resolve));
  answer = () => blocked;
  for (let index = 0; index < 1101; index++) events.record(analysts, 'Normal', 'Ready', `message ${index}`);
  await settle();
  expect(await dropped()).toBe(100);
  release();
  await events.close();
  expect(sent).toHaveLength(1001);
});

it('does not delay the shutdown when the API server does not answer', async () => {
  answer = () => new Promise((_, reject) => (cut = () => reject(new Error('aborted'))));
  for (let index = 0; index < 10; index++) events.record(analysts, 'Normal', 'Ready', `message ${index}`);
  const closed = events.close();
  await clock.advance(3000);
  await closed;
  expect(await dropped()).toBe(10);
});

it('truncates a note to the limit of the API server', async () => {
  events.record(analysts, 'Normal', 'Ready', 'x'.repeat(5000));
  await events.close();
  expect(sent[0]?.body['note']).toHaveLength(1024);
});

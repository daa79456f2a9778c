import { Registry } from 'prom-client';
import { beforeEach, expect, it } from 'vitest';
import { KubernetesEvents } from '../../../src/kubernetes/events.ts';
import type { KubernetesTransport } from '../../../src/kubernetes/transport.ts';
import { role, stored, withMeta } from '../../builders/resources.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { loggedLines, metrics } from '../operator/fakes.ts';

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
let lines: Record<string, unknown>[];

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
  const { log, lines: logged } = loggedLines();
  lines = logged;
  events = new KubernetesEvents({
    transport,
    clock,
    onDropped: () => counters.eventDropped(),
    log,
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
      regarding: {
        // The version of kubectl, which compares it for `kubectl events --for`.
        apiVersion: 'olapwarden.io/v1beta1',
        kind: 'Role',
        name: 'analysts',
        namespace: 'olap',
        uid: 'uid-of-analysts',
      },
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

/** Blocks the API server's answers until the returned function is called. */
function block(): () => void {
  let release = (): void => {};
  const blocked = new Promise<void>((resolve) => (release = resolve));
  answer = () => blocked;
  return release;
}

it('queues a thousand Events while the API server does not answer, and counts the dropped ones', async () => {
  const release = block();
  for (let index = 0; index < 1101; index++) events.record(analysts, 'Normal', `Reason${index}`, 'x');
  await settle();
  expect(await dropped()).toBe(100);
  release();
  await events.close();
  expect(sent).toHaveLength(1001);
});

it('drops a Normal for a Warning when the queue is full, and sends Warnings first', async () => {
  const release = block();
  for (let index = 0; index < 1001; index++) events.record(analysts, 'Normal', `Reason${index}`, 'x');
  await settle();
  for (let index = 0; index < 100; index++) events.record(analysts, 'Warning', `Bad${index}`, 'x');
  for (let index = 0; index < 100; index++) events.record(analysts, 'Normal', `Late${index}`, 'x');
  await settle();
  expect(await dropped()).toBe(200);
  release();
  await events.close();
  const types = sent.map(({ body }) => body['type']);
  expect(types.slice(1, 101)).toEqual(Array.from({ length: 100 }, () => 'Warning'));
  expect(types).toHaveLength(1001);
});

it('limits the Events of one kind and reason over all objects, Warnings and Normals apart, and their log lines', async () => {
  const of = (index: number) => role(`r${index}`, {}, withMeta({ uid: `uid-${index}` }));
  for (let index = 0; index < 5000; index++) {
    events.record(of(index), 'Normal', 'PolicyNotFound', 'x');
    events.record(of(index), 'Warning', 'Invalid', 'x');
  }
  await events.close();
  expect(sent.filter(({ body }) => body['type'] === 'Normal')).toHaveLength(20);
  expect(sent.filter(({ body }) => body['type'] === 'Warning')).toHaveLength(40);
  expect(await dropped()).toBe(10_000 - 60);
  expect(lines.length).toBeLessThan(10);
  sent = [];
  clock.jump(2 * 60_000);
  for (let index = 0; index < 5; index++) events.record(of(index + 5000), 'Normal', 'PolicyNotFound', 'x');
  await events.close();
  expect(sent).toHaveLength(2);
  // The log says how many were left out since the last line.
  expect(lines.at(-1)).toMatchObject({ reason: 'PolicyNotFound', suppressed: expect.any(Number) });
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

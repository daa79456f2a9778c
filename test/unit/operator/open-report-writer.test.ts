import { afterEach, beforeEach, expect, it } from 'vitest';
import type { OpenReports, StoredOpenReport } from '../../../src/kubernetes/open-reports.ts';
import { OpenReportWriter } from '../../../src/operator/open-report-writer.ts';
import type { ObjectMeta } from '../../../src/resources/meta.ts';
import { StoreError } from '../../../src/store/resource-store.ts';
import { clusterHealthReport, withMeta } from '../../builders/resources.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { MemoryStore } from '../access/memory-store.ts';
import { loggedLines } from './fakes.ts';

const HOUR = 3_600_000;

let store: MemoryStore;
let clock: FakeClock;
let stored: Map<string, StoredOpenReport>;
/** Requests so far. */
let requests: string[];
/** Thrown by each write, if set. */
let refusal: StoreError | undefined;
let isLeader: boolean;
/** Called by each read. */
let whileReading: () => Promise<void> | void;
let lines: Record<string, unknown>[];
let writer: OpenReportWriter;

const openReports: OpenReports = {
  async read(name) {
    requests.push(`get ${name}`);
    await whileReading();
    return stored.get(name);
  },
  create: (metadata, content) => write('create', metadata, content),
  replace: (metadata, content) => write('update', metadata, content),
};

async function write(verb: string, metadata: ObjectMeta, content: object): Promise<void> {
  requests.push(`${verb} ${metadata.name}`);
  if (refusal) throw refusal;
  stored.set(metadata.name, { ...content, metadata });
}

beforeEach(() => {
  [store, clock, stored, requests, refusal, isLeader] = [
    new MemoryStore(),
    new FakeClock(),
    new Map(),
    [],
    undefined,
    true,
  ];
  whileReading = () => undefined;
  store.seed(clusterHealthReport('cluster', {}, withMeta({ uid: 'uid-of-cluster' })));
  const logged = loggedLines();
  ({ lines } = logged);
  writer = new OpenReportWriter({ openReports, store, clock, log: logged.log, isLeader: () => isLeader });
  writer.start();
});
afterEach(() => writer.stop());

/** Writes the status of the report. */
async function report(message: string, more: object = {}): Promise<void> {
  const current = store.get('ClusterHealthReport', 'cluster')!;
  const checks = [{ name: 'QUERY_HEALTH_CHECK', status: 'FAIL' as const, message, findingCount: 1 }];
  await store.updateStatus('ClusterHealthReport', { ...current, status: { checks, ...more } });
  await settle();
}

const taken = (): string[] => requests.splice(0);

it('writes a report when its results change, and not otherwise', async () => {
  await settle();
  expect(taken()).toEqual([]);
  await report('broken');
  expect(taken()).toEqual(['get cluster', 'create cluster']);
  await report('broken', { running: { id: 'r', checks: [], checksTotal: 40 } });
  expect(taken()).toEqual([]);
  await report('more is broken');
  expect(taken()).toEqual(['get cluster', 'update cluster']);
  expect(stored.get('cluster')).toMatchObject({
    results: [{ message: 'more is broken' }],
    metadata: {
      labels: { 'app.kubernetes.io/managed-by': 'olap-warden' },
      ownerReferences: [{ kind: 'ClusterHealthReport', name: 'cluster', uid: 'uid-of-cluster' }],
    },
  });
  // A written Report is no reason to wait.
  await report('still more is broken');
  expect(taken()).toEqual(['get cluster', 'update cluster']);
});

it('writes a Report again that was deleted or changed, within an hour', async () => {
  await report('broken');
  taken();
  await clock.advance(HOUR);
  expect(taken()).toEqual(['get cluster']);
  stored.clear();
  await clock.advance(HOUR);
  expect(taken()).toEqual(['get cluster', 'create cluster']);
});

it('does not change a Report of another program', async () => {
  stored.set('cluster', { metadata: { name: 'cluster', labels: { 'app.kubernetes.io/managed-by': 'other' } } });
  await report('broken');
  expect(taken()).toEqual(['get cluster']);
  expect(lines.map(({ msg }) => msg)).toEqual([expect.stringContaining('of another program')]);
  // The other program may have deleted it meanwhile.
  stored.clear();
  await report('more is broken');
  expect(taken()).toEqual(['get cluster', 'create cluster']);
});

it('looks for an API that is not installed every ten minutes, and logs it once', async () => {
  refusal = new StoreError('not-found', 'the server could not find the requested resource');
  await report('broken');
  expect(lines).toHaveLength(1);
  await report('still broken');
  expect(taken()).toEqual(['get cluster', 'create cluster']);
  await clock.advance(600_000);
  expect(taken()).toEqual(['get cluster', 'create cluster']);
  expect(lines.map(({ msg }) => msg)).toEqual([expect.stringContaining('is not installed')]);
  refusal = undefined;
  await clock.advance(600_000);
  expect(stored.get('cluster')).toMatchObject({ results: [{ message: 'still broken' }] });
});

it('repeats a failed write with growing delays, however often the report changes meanwhile', async () => {
  refusal = new StoreError('unavailable', 'no response');
  await report('one');
  for (let change = 0; change < 20; change++) await report(`change ${change}`);
  expect(taken()).toEqual(['get cluster', 'create cluster']);
  await clock.advance(HOUR);
  expect(taken().length).toBeLessThan(2 * 30);
  refusal = undefined;
  await clock.advance(300_000);
  expect(stored.get('cluster')).toMatchObject({ results: [{ message: 'change 19' }] });
});

it('writes nothing after this process lost its leadership', async () => {
  isLeader = false;
  await report('broken');
  expect(taken()).toEqual([]);
});

it.each([-24 * HOUR, 24 * HOUR])('pauses as long as without it when the wall clock is set by %i ms', async (step) => {
  refusal = new StoreError('unavailable', 'no response');
  await report('one');
  refusal = undefined;
  clock.step(step);
  await clock.advance(300_000);
  expect(stored.get('cluster')).toMatchObject({ results: [{ message: 'one' }] });
  taken();
  clock.step(step);
  await clock.advance(HOUR - 600_000);
  await report('one');
  expect(taken()).toEqual([]);
  await clock.advance(900_000);
  expect(taken()).toEqual(['get cluster']);
});

it('writes nothing after this process lost its leadership while it read, and at once when it leads again', async () => {
  whileReading = () => void (isLeader = false);
  await report('broken');
  expect(taken()).toEqual(['get cluster']);
  [isLeader, whileReading] = [true, () => undefined];
  await report('still broken');
  expect(taken()).toEqual(['get cluster', 'create cluster']);
  whileReading = () => void (isLeader = false);
  await report('more is broken');
  expect(taken()).toEqual(['get cluster']);
});

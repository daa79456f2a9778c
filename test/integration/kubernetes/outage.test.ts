import { setTimeout as sleep } from 'node:timers/promises';
import { KubeConfig } from '@kubernetes/client-node';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { KubernetesApiError } from '../../../src/kubernetes/api-error.ts';
import { KubernetesStore, type StoreTransport } from '../../../src/kubernetes/kubernetes-store.ts';
import { DEFAULT_TUNING } from '../../../src/kubernetes/reflector.ts';
import { KubernetesTransport } from '../../../src/kubernetes/transport.ts';
import { systemClock, type Clock } from '../../../src/platform/clock.ts';
import { CUSTOM_KINDS, type CustomKind } from '../../../src/resources/kinds.ts';
import { clusterHealthReport, policy, role, roleAssignment, serviceToken } from '../../builders/resources.ts';
import { startControlPlane, type ControlPlane } from '../../support/control-plane.ts';
import { CuttableProxy } from '../../support/kubernetes/cuttable-proxy.ts';
import { compactHistory } from '../../support/kubernetes/etcd.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';
import { until } from '../../support/until.ts';

// The outage itself is the only time that these tests wait for.
const OUTAGE_MS = 45_000;
/** Shorter than every watch: the delays before the next attempt. */
const LONGEST_DELAY_MS = 12_000;

/** A store with the settings of production, behind a network of its own, and what it did. */
interface Observed {
  readonly store: KubernetesStore;
  readonly proxy: CuttableProxy;
  readonly failures: KubernetesApiError[];
  /** How long the store waits after a failure. */
  readonly delays: { readonly ms: number; readonly after: KubernetesApiError }[];
  lists(): number;
  watches(): number;
  close(): Promise<void>;
}

let plane: ControlPlane;
let namespace: string;
const opened: Observed[] = [];

beforeAll(async () => {
  plane = await startControlPlane();
  await plane.applyCrds();
  namespace = await plane.createNamespace('outage');
});
afterEach(async () => {
  for (const observed of opened.splice(0)) await observed.close();
});
afterAll(() => plane.stop());

async function open(): Promise<Observed> {
  const proxy = await CuttableProxy.start(plane.url);
  const transport = new KubernetesTransport(
    () => {
      const config = new KubeConfig();
      config.loadFromFile(plane.kubeconfigPath);
      config.clusters = config.clusters.map((cluster) => ({ ...cluster, server: `https://127.0.0.1:${proxy.port}` }));
      return config;
    },
    { namespace },
  );
  const failures: KubernetesApiError[] = [];
  const delays: Observed['delays'] = [];
  let lists = 0;
  let watches = 0;
  const clock: Clock = {
    ...systemClock,
    schedule: (callback, ms) => {
      const after = failures.at(-1);
      if (ms < LONGEST_DELAY_MS && after !== undefined) delays.push({ ms, after });
      return systemClock.schedule(callback, ms);
    },
  };
  const spy: StoreTransport = {
    namespace,
    stream: async (path, options) => {
      const lines = await transport.stream(path, options);
      watches++;
      return lines;
    },
    request: (method, path, options) => {
      lists++;
      return transport.request(method, path, options);
    },
  };
  const store = new KubernetesStore({
    transport: spy,
    clock,
    onError: (error) => failures.push(error as KubernetesApiError),
  });
  const close = async (): Promise<void> => {
    await store.close();
    await transport.close();
    await proxy.close();
  };
  const observed: Observed = { store, proxy, failures, delays, lists: () => lists, watches: () => watches, close };
  opened.push(observed);
  await store.synced(AbortSignal.timeout(WAIT_LIMIT_MS));
  await until('every kind is watched', () => watches >= CUSTOM_KINDS.length);
  return observed;
}

/** One object of each kind, written past the proxies. */
async function writeAll(name: string): Promise<void> {
  const objects = [policy(name), role(name), roleAssignment(name), serviceToken(name), clusterHealthReport(name)];
  for (const object of objects)
    await plane.mustKubectl(['-n', namespace, 'apply', '-f', '-'], { input: JSON.stringify(object) });
}

const missing = ({ store }: Observed, name: string): CustomKind[] =>
  CUSTOM_KINDS.filter((kind) => store.get(kind, name) === undefined);

/** Waits until the view has the objects, and every kind is watched again. */
async function untilCurrent(observed: Observed, name: string): Promise<void> {
  await until('the view has all objects', () => missing(observed, name).length === 0);
  await until('the view is current', () => observed.store.health().lastError === undefined);
}

/** With a delay of at most three seconds before the attempt that succeeds, the view is current within five. `Retry-After` of a response comes in addition. */
function expectShortDelays({ delays }: Observed): void {
  const { baseMs, maxMs } = DEFAULT_TUNING.backoff;
  expect(maxMs).toBeLessThanOrEqual(3000);
  const own = delays.map(({ ms, after }) => ms - (after.retryAfterMs ?? 0));
  expect(Math.max(...own)).toBeLessThanOrEqual(maxMs);
  // The first response of a server that starts ends the backoff of the outage.
  const answered = delays.findIndex(({ after }) => after.retryAfterMs !== undefined);
  if (answered >= 0) expect(own[answered]).toBeLessThanOrEqual(baseMs);
}

test('after 45 s without a network the view is current without a list, whether connections were refused or packets lost', async () => {
  const [refused, lost] = await Promise.all([open(), open()]);
  refused.proxy.cut();
  lost.proxy.stall();
  await writeAll('meanwhile');
  await sleep(OUTAGE_MS);
  for (const observed of [refused, lost]) {
    expect(missing(observed, 'meanwhile')).toEqual(CUSTOM_KINDS);
    expect(observed.store.health().ageMs).toBeGreaterThan(OUTAGE_MS / 2);
  }
  // A connection that is open without any data is given up before the outage ends.
  await until('each watch is given up', () => lost.failures.length >= CUSTOM_KINDS.length);
  for (const { message } of lost.failures.slice(0, CUSTOM_KINDS.length))
    expect(message).toMatch(/nothing received within 25000 ms|exceeded its duration/);
  refused.proxy.mend();
  lost.proxy.mend();
  await Promise.all([refused, lost].map(async (observed) => untilCurrent(observed, 'meanwhile')));
  for (const observed of [refused, lost]) {
    expectShortDelays(observed);
    expect(observed.lists()).toBe(CUSTOM_KINDS.length);
    // No failure was followed by two delays, and none by an attempt without one.
    expect(observed.delays).toHaveLength(observed.failures.length);
  }
});

test('after an API server that was down for 45 s and has no history, the view is listed at once', async () => {
  const observed = await open();
  observed.proxy.cut();
  await writeAll('before-the-end');
  await compactHistory(plane.description.etcdUrl);
  await plane.stopApiserver();
  await sleep(OUTAGE_MS);
  expect(missing(observed, 'before-the-end')).toEqual(CUSTOM_KINDS);
  await plane.startApiserver();
  observed.proxy.mend();
  await untilCurrent(observed, 'before-the-end');
  expectShortDelays(observed);
  const expired = observed.failures.filter((error) => error.expired);
  expect(expired).toHaveLength(CUSTOM_KINDS.length);
  expect(observed.lists()).toBe(2 * CUSTOM_KINDS.length);
  expect(observed.delays).toHaveLength(observed.failures.length - expired.length);
});

import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Principal } from '../../../src/access/principal.ts';
import { tableResource } from '../../../src/access/policy/srn.ts';
import type { ResourceStore } from '../../../src/store/resource-store.ts';
import { observeExpiries, type Expiring } from '../../../src/operator/reconcilers/expiry-metrics.ts';
import { prometheusMetrics } from '../../../src/operator/metrics.ts';
import { startOperator } from '../../../src/operator/operator.ts';
import { tableNameOf } from '../../../src/pinot/table-name.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { sharedControlPlane } from '../../support/control-plane.ts';
import { eventually, runOperator } from '../../support/operator.ts';
import { folderDeployment, inPath, kubernetesDeployment, soon, type Deployment, type Gateway } from './gateways.ts';

const ADA = { subject: 'ada@example.com', subjectType: 'user-email' };
const PRINCIPAL: Principal = {
  kind: 'user',
  srn: 'srn2:user#ada@example.com',
  id: 'ada@example.com',
  groups: [],
  domain: undefined,
  authenticator: 'test',
};
/** Shortest lifetimes of an assignment. A busy machine gets longer ones. */
const LIFETIME_MS = 8000;
const SHORT_LIFETIME_MS = 1500;
const PRUNE_MS = 4000;
const DAY_MS = 86_400_000;

interface Running {
  readonly deployment: Deployment;
  readonly registry: Registry;
  /** kubectl in the namespace; undefined for a folder. */
  readonly kubectl: ((...args: string[]) => Promise<string>) | undefined;
  stop(): Promise<void>;
}

async function onKubernetes(): Promise<Running> {
  const deployment = await kubernetesDeployment(2);
  const plane = await sharedControlPlane();
  const running = runOperator(plane.kubeconfigPath, deployment.namespace, { pruneExpiredAfterMs: PRUNE_MS });
  observeExpiries(running.registry, () => expiring(running.store), systemClock);
  return {
    deployment,
    registry: running.registry,
    kubectl: async (...args) => (await plane.mustKubectl(['-n', deployment.namespace, ...args])).stdout,
    async stop() {
      await running.stop();
      await deployment.stop();
    },
  };
}

function expiring(store: Pick<ResourceStore, 'list'>): Expiring {
  return { assignments: store.list('RoleAssignment'), tokens: store.list('ServiceToken') };
}

async function onFolder(): Promise<Running> {
  const deployment = await folderDeployment();
  const { store } = deployment.gateways[0]!;
  const registry = new Registry();
  const operator = startOperator({
    store,
    metrics: prometheusMetrics(registry),
    log: pino({ level: 'silent' }),
    pruneExpiredAfterMs: PRUNE_MS,
  });
  observeExpiries(registry, () => expiring(store), systemClock);
  return {
    deployment,
    registry,
    kubectl: undefined,
    async stop() {
      await operator.stop();
      await deployment.stop();
    },
  };
}

describe.each([
  ['a kube-apiserver', onKubernetes],
  ['a folder', onFolder],
] as const)('an assignment that expires, on %s', (_name, start) => {
  let running: Running;
  let gateways: readonly Gateway[];
  /** How long three writes took, milliseconds. */
  let writesMs: number;
  const mayQuery = () =>
    gateways.map(({ directory }) => directory.isAllowed(PRINCIPAL, 'Query', tableResource(tableNameOf('events'))));

  beforeAll(async () => {
    running = await start();
    ({ gateways } = running.deployment);
    const call: Gateway['call'] = (...request) => gateways[0]!.call(...request);
    const document = {
      version: 'v1',
      statements: [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#*'] }],
    };
    const begun = performance.now();
    await call('POST', '/policies', { name: 'read', policyDocument: document });
    await call('POST', '/roles', { name: 'visitors' });
    await call('POST', `/roles/${inPath('role', 'visitors')}/attach-policy`, { policySrn: 'srn2:policy#read' });
    writesMs = performance.now() - begun;
  });
  afterAll(() => running.stop());

  const assign = (expiresAt: string) =>
    gateways[0]!.call('POST', `/roles/${inPath('role', 'visitors')}/create-assignment`, { ...ADA, expiresAt });
  const listed = async () =>
    (await gateways.at(-1)!.call('GET', `/roles/${inPath('role', 'visitors')}/assignments`)).body as object[];
  const metric = async (name: string): Promise<number | undefined> => {
    const found = await running.registry.getSingleMetric(`olap_warden_role_assignment_subjects_${name}`)?.get();
    return found?.values[0]?.value;
  };

  it('gives the role on every gateway until that moment, is reported, and is removed', async () => {
    const { kubectl } = running;
    const expiry = Date.now() + Math.max(LIFETIME_MS, 10 * writesMs);
    const expiresAt = new Date(expiry).toISOString();
    expect((await assign(expiresAt)).body).toMatchObject({ expiresAt, status: 'ACTIVE' });
    await soon(() => expect(mayQuery()).toEqual(gateways.map(() => true)));
    await soon(async () => expect(await listed()).toMatchObject([{ ...ADA, expiresAt, status: 'ACTIVE' }]));
    const during = async (end: number, check: () => Promise<void>): Promise<void> =>
      soon(async () => {
        // A busy machine may be later.
        const failure = await check().catch((error: unknown) => error);
        if (failure !== undefined && Date.now() < end) throw failure as Error;
      });
    await during(expiry, async () => expect(await metric('expiring')).toBe(1));
    if (kubectl) {
      await eventually(
        () => kubectl('get', 'events', '-o', 'jsonpath={.items[*].reason}'),
        (reasons) => reasons.includes('AssignmentExpiring'),
      );
      const until = new Date(Math.floor(expiry / 1000) * 1000).toISOString().replace('.000', '');
      const shown = async () => kubectl('get', 'roleassignments.olapwarden.io');
      await during(expiry + PRUNE_MS, async () => expect(await shown()).toContain(until));
    }
    // No gateway decides otherwise before the expiry or after it.
    while (Date.now() < expiry + 300) {
      const [before, decided] = [Date.now(), mayQuery()];
      const after = Date.now();
      if (after < expiry) expect(decided).toEqual(gateways.map(() => true));
      else if (before >= expiry) expect(decided).toEqual(gateways.map(() => false));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await during(expiry + PRUNE_MS, async () => {
      expect(await listed()).toMatchObject([{ ...ADA, expiresAt, status: 'EXPIRED' }]);
      expect(await metric('expired')).toBe(1);
    });
    await soon(async () => expect(await listed()).toEqual([]));
    expect(Date.now()).toBeGreaterThanOrEqual(expiry + PRUNE_MS);
    if (!kubectl) return;
    const reasons = await eventually(
      async () => (await kubectl('get', 'events', '-o', 'jsonpath={.items[*].reason}')).split(' '),
      (seen) => seen.includes('ExpiredSubjectsRemoved'),
    );
    const ours = reasons.filter((reason) => /^(Assignment|ExpiredSubjects)/.test(reason));
    expect(ours.sort()).toEqual(['AssignmentExpired', 'AssignmentExpiring', 'ExpiredSubjectsRemoved']);
  });

  it('is renewed by another assignment, also after its expiry', async () => {
    await assign(new Date(Date.now() + Math.max(SHORT_LIFETIME_MS, 4 * writesMs)).toISOString());
    await soon(() => expect(mayQuery()).toEqual(gateways.map(() => true)));
    await soon(() => expect(mayQuery()).toEqual(gateways.map(() => false)));
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    expect((await assign(expiresAt)).body).toMatchObject({ expiresAt, status: 'ACTIVE' });
    await soon(() => expect(mayQuery()).toEqual(gateways.map(() => true)));
    // Longer than the time after which the first expiry would have been removed.
    await new Promise((resolve) => setTimeout(resolve, PRUNE_MS + 2000));
    expect(mayQuery()).toEqual(gateways.map(() => true));
    expect(await listed()).toMatchObject([{ expiresAt }]);
  });

  it('is announced 24 hours before that moment, not earlier', async () => {
    const expiry = Date.now() + DAY_MS + 5000;
    const expiresAt = new Date(expiry).toISOString();
    const isEarly = (): boolean => Date.now() < expiry - DAY_MS;
    const states = () =>
      gateways[0]!.store
        .list('RoleAssignment')
        .flatMap(({ status }) => status?.expiries ?? [])
        .filter((one) => one.expiresAt === expiresAt)
        .map(({ state }) => state);
    // The expiry of the previous test is replaced.
    expect((await assign(expiresAt)).status).toBe(200);
    await soon(async () => {
      const seen = [await metric('expiring'), states()];
      if (isEarly()) expect(seen).toEqual([0, []]);
    });
    await soon(async () => expect([await metric('expiring'), states()]).toEqual([1, ['Expiring']]));
    expect(isEarly()).toBe(false);
    const { kubectl } = running;
    if (!kubectl) return;
    const messages = await eventually(
      () => kubectl('get', 'events', '-o', 'jsonpath={.items[?(@.reason=="AssignmentExpiring")].message}'),
      (seen) => seen.includes(expiresAt),
    );
    expect(messages).toContain('`user-email:ada@example.com` loses role `visitors` within 24 hours');
  });
});

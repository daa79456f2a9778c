import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { policy, role, roleAssignment } from '../../test/builders/resources.ts';
import { startControlPlane, type ControlPlane } from '../../test/support/control-plane.ts';
import type { Program } from '../../test/support/processes.ts';
import type { Bench } from '../frame/bench.ts';
import { median } from '../frame/measure.ts';
import { atMost, atMostTimes, NO_GOAL } from '../frame/rows.ts';
import { sized } from '../frame/sizes.ts';
import { cpuMsOf } from '../process-cpu.ts';
import { admissionCosts, type AdmissionCosts } from '../workloads/admission-cost.ts';
import { residentMb } from '../workloads/load.ts';
import { Applier } from '../workloads/control-plane-load.ts';
import {
  CHANGE_LIMIT_MS,
  NAMESPACE,
  serviceAccountFolder,
  startProgram,
  statusOf,
  until,
  type RunningGateway,
  type Stage,
} from '../workloads/pods.ts';

const ROOT = join(import.meta.dirname, '../..');
const ROLES = sized({ quick: 100, normal: 10_000 });
const POLICIES = 500;
const STATEMENTS = 10;
const GATEWAYS = 3;
const CHANGES = sized({ quick: 6, normal: 200 });
const IDLE_SECONDS = sized({ quick: 3, normal: 20 });
/** After the start, for the garbage of the start. */
const SETTLE_SECONDS = sized({ quick: 2, normal: 10 });
/** Time in which the operator writes the status of all objects for the first time. */
const RECONCILED_LIMIT_MS = 600_000;
const RECONCILED_POLL_MS = 2_000;
const STARTS = sized({ quick: 1, normal: 3 });
/** Roles and assignments at which the cost of admission is compared with that at all of them. */
const FEW = sized({ quick: 10, normal: 100 });
const ADMITTED = sized({ quick: 5, normal: 100 });
const MB = 1024 * 1024;

/** The time from the Kubernetes API to a decision: gateways as separate programs, on a real control plane with 10,000 roles. */
export async function run(bench: Bench): Promise<void> {
  bench.optionsOfImage();
  const plane = await startControlPlane();
  const programs: Program[] = [];
  let account = '';
  let operatorAccount = '';
  try {
    await plane.applyCrds();
    await plane.mustKubectl(['create', 'namespace', NAMESPACE]);
    await plane.mustKubectl(['apply', '-k', join(ROOT, 'manifests')]);
    const applier = await Applier.open(plane.kubeconfigPath, NAMESPACE);
    await applier.applyAll(objects(0, FEW));
    let few: AdmissionCosts | undefined;
    await bench.part('admission, few objects', async () => void (few = await admissionCosts(plane, ADMITTED)));
    bench.note(`applying ${ROLES} roles and as many assignments over ${POLICIES} policies`);
    await applier.applyAll(objects(FEW, ROLES));
    await bench.part('admission, all objects', () => admission(bench, plane, few));
    account = await serviceAccountFolder(plane, 'gateway');
    operatorAccount = await serviceAccountFolder(plane, 'operator');
    const stage = { plane, accounts: { gateway: account, operator: operatorAccount }, programs };
    await bench.part('start of a gateway', () => startOfGateway(bench, stage));
    await bench.part('idle', () => idle(bench, stage));
    await bench.part('a role applied → decided', () => appliedToDecided(bench, stage, applier));
    await applier.close();
  } finally {
    for (const program of programs) program.signalGroup('SIGKILL');
    await plane.stop();
    for (const folder of [account, operatorAccount]) await rm(folder, { recursive: true, force: true });
  }
}

/** Compares the cost of each admission with that at a hundredth of the objects. */
async function admission(bench: Bench, plane: ControlPlane, few: AdmissionCosts | undefined): Promise<void> {
  for (const [what, ms] of await admissionCosts(plane, ADMITTED)) {
    const theirs = few?.get(what);
    if (theirs === undefined) throw new Error(`the cost of the ${what} with few objects is not known`);
    bench.add({
      work: `${what}, ${ROLES} roles and assignments`,
      unit: 'ms CPU of the API server',
      better: 'less',
      ours: ms,
      peer: `the same with ${FEW} roles and assignments`,
      theirs,
      goal: atMostTimes(1.5),
    });
  }
}

/** Policies, and the roles and assignments with the numbers `from` to `to`. */
function* objects(from: number, to: number): Generator<readonly [string, { metadata: { name: string } }]> {
  const policies = from === 0 ? POLICIES : 0;
  for (let index = 0; index < policies; index++) {
    const statements = Array.from({ length: STATEMENTS }, (_, statement) => ({
      effect: 'allow' as const,
      actions: ['Query', 'Get*'],
      resources: [`srn2:table#team${index}_orders${statement}*`],
    }));
    yield ['policies', policy(`policy-${index}`, { statements })];
  }
  for (let index = from; index < to; index++) {
    const name = `role-${index}`;
    yield ['roles', role(name, { policies: [`policy-${index % POLICIES}`] })];
    const subjects = [{ type: 'user-email' as const, name: `user-${index}@example.com` }];
    yield ['roleassignments', roleAssignment(name, { role: name, subjects })];
  }
}

const startGateway = (stage: Stage): Promise<RunningGateway> => startProgram(stage, 'gateway');

async function startOfGateway(bench: Bench, stage: Stage): Promise<void> {
  const times: number[] = [];
  let heap = 0;
  for (let start = 0; start < STARTS; start++) {
    const began = performance.now();
    const gateway = await startGateway(stage);
    times.push(performance.now() - began);
    heap = Math.max(heap, await heapOf(gateway));
    gateway.program.signalGroup('SIGTERM');
    await gateway.program.exited;
  }
  const work = `start of a gateway, ${ROLES} roles and assignments`;
  bench.note('kubectl get of the same objects');
  const gets: number[] = [];
  for (let round = 0; round < STARTS; round++) gets.push(await getAll(stage));
  bench.add({
    work: `${work}: ready`,
    unit: 'ms',
    better: 'less',
    ours: median(times),
    peer: '`kubectl get -o json` of the same objects, one kind after the other',
    theirs: median(gets),
    goal: atMostTimes(1),
  });
  bench.add({ work: `${work}: heap`, unit: 'MB', better: 'less', ours: heap / MB, goal: atMost(100, 'MB') });
}

/** What gateway and operator use when nothing happens. */
async function idle(bench: Bench, stage: Stage): Promise<void> {
  for (const kind of ['gateway', 'operator'] as const) {
    const running = await startProgram(stage, kind);
    const { program } = running;
    if (kind === 'operator') await reconciled(bench, running);
    bench.note(`${kind}: idle for ${IDLE_SECONDS} s`);
    await delay(SETTLE_SECONDS * 1000);
    const before = await cpuMsOf(program.pid);
    await delay(IDLE_SECONDS * 1000);
    const cpuMs = (await cpuMsOf(program.pid)) - before;
    const resident = await residentMb(program.pid);
    const work = `idle ${kind}, ${ROLES} roles and assignments`;
    const percent = cpuMs / IDLE_SECONDS / 10;
    bench.add({
      work: `${work}: CPU`,
      unit: '% of a core',
      better: 'less',
      ours: percent,
      goal: atMost(1, '% of a core'),
    });
    bench.add({ work: `${work}: resident memory`, unit: 'MB', better: 'less', ours: resident, goal: NO_GOAL });
    program.signalGroup('SIGTERM');
    await program.exited;
  }
}

/** Waits until the operator has reconciled all objects: it writes the status of each new one, which is work and not idle. */
async function reconciled(bench: Bench, operator: RunningGateway): Promise<void> {
  bench.note('operator: writing the status of all objects');
  const deadline = performance.now() + RECONCILED_LIMIT_MS;
  for (let before = -1, now = 0; now < ROLES || now !== before;) {
    if (performance.now() > deadline) throw new Error(`the operator still reconciles after ${now} reconciliations`);
    await delay(RECONCILED_POLL_MS);
    before = now;
    now = await reconciliations(operator);
  }
}

/** The number of reconciliations of the operator so far. */
async function reconciliations({ metricsUrl }: RunningGateway): Promise<number> {
  const text = await (await fetch(`${metricsUrl}/metrics`)).text();
  const counts = text.matchAll(/^controller_runtime_reconcile_total\{[^}]*\} (\S+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** @returns milliseconds */
async function getAll({ plane }: Stage): Promise<number> {
  const began = performance.now();
  for (const kind of ['policies', 'roles', 'roleassignments']) {
    const { stdout } = await plane.mustKubectl([
      'get',
      `${kind}.olapwarden.io`,
      '--namespace',
      NAMESPACE,
      '--output=json',
    ]);
    const { items } = JSON.parse(stdout) as { items: unknown[] };
    const expected = kind === 'policies' ? POLICIES : ROLES;
    if (items.length !== expected) throw new Error(`kubectl returned ${items.length} of ${expected} ${kind}`);
  }
  return performance.now() - began;
}

async function heapOf({ metricsUrl, program }: RunningGateway): Promise<number> {
  process.kill(program.pid, 'SIGUSR2');
  await delay(500);
  const text = await (await fetch(`${metricsUrl}/metrics`)).text();
  return Number(/^nodejs_heap_size_used_bytes (\S+)$/m.exec(text)?.[1]);
}

/** Attaches a policy to a role and detaches it, in turn, until every gateway allows or denies its subject to read the role. */
async function appliedToDecided(bench: Bench, stage: Stage, applier: Applier): Promise<void> {
  const gateways = [];
  for (let count = 0; count < GATEWAYS; count++) gateways.push(await startGateway(stage));
  const reader = await stage.plane.serviceAccountToken(NAMESPACE, 'reader', { audience: 'olap-warden' });
  const name = `system:serviceaccount:${NAMESPACE}:reader`;
  const readRoles = { effect: 'allow' as const, actions: ['GetRole'], resources: ['*'] };
  await applier.apply('policies', policy('read-roles', { statements: [readRoles] }));
  await applier.apply(
    'roleassignments',
    roleAssignment('probe', { role: 'probe', subjects: [{ type: 'user-email', name }] }),
  );
  const times: number[] = [];
  for (let change = 0; change < CHANGES; change++) {
    const granted = change % 2 === 0;
    const wanted = granted ? 200 : 403;
    const began = performance.now();
    await applier.apply('roles', role('probe', { policies: granted ? ['read-roles'] : [] }));
    const decided = gateways.map(async ({ url, program }) => {
      const asked = `${url}/api/v1/rbac-manager/roles/srn2:role%23probe`;
      const isDecided = async () => (await statusOf(asked, reader)) === wanted;
      if (!(await until(isDecided, CHANGE_LIMIT_MS))) {
        throw new Error(`a gateway did not apply a change of a role:\n${program.output}`);
      }
    });
    await Promise.all(decided);
    times.push(performance.now() - began);
  }
  times.sort((a, b) => a - b);
  bench.note(
    `a role applied, decided by ${GATEWAYS} gateways: median ${median(times).toFixed(1)} ms, ${CHANGES} changes`,
  );
  bench.add({
    work: `a role applied → decided by ${GATEWAYS} gateways, 99th percentile`,
    unit: 'ms',
    better: 'less',
    ours: times[Math.ceil(times.length * 0.99) - 1]!,
    goal: atMost(500, 'ms'),
  });
}

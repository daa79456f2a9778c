import type { DecisionEngine } from '../../src/access/policy/decision.ts';
import { Directory } from '../../src/access/directory.ts';
import type { Principal } from '../../src/access/principal.ts';
import { policy, role, roleAssignment } from '../../test/builders/resources.ts';
import { MemoryStore } from '../../test/unit/access/memory-store.ts';
import type { Bench } from '../frame/bench.ts';
import { packageVersion } from '../frame/machine.ts';
import { lastOf, measure, measureInTurn, median, seededRandom } from '../frame/measure.ts';
import { atLeastTimes, atMost, atMostTimes, NO_GOAL } from '../frame/rows.ts';
import { sized } from '../frame/sizes.ts';
import { askCasbin, prepareCasbin } from '../peers/casbin.ts';
import { askPrepared, cedarContext, prepareCedar } from '../peers/cedar.ts';
import { DEPLOYMENT, engineOf } from '../workloads/decision-engine.ts';
import { addOpaRow, askOpa } from '../workloads/opa-side.ts';
import { makeWorkload, type Workload } from '../workloads/policies.ts';

/** The peers get a part of the requests: all of them would take minutes. */
const PEER_QUESTIONS = sized({ quick: 200, normal: 4000 });

const QUESTIONS = sized({ quick: 2000, normal: 100_000 });
const CURVE_ROLES = sized<readonly number[]>({
  quick: [10, 100],
  normal: [10, 100, 1000, 10_000, 30_000],
  full: [10, 100, 1000, 10_000, 30_000, 100_000],
});
const MANY_ROLES = sized({ quick: 100, normal: 10_000 });

export async function run(bench: Bench): Promise<void> {
  bench.version('cedar-wasm', await packageVersion('@cedar-policy/cedar-wasm'));
  bench.version('casbin', await packageVersion('casbin'));
  await bench.part('policy decision', () => decisions(bench));
  await bench.part('policy decision by the number of roles', () => curveOfRoles(bench));
  await bench.part('policy decision, a principal with 1,000 statements', () => largePrincipal(bench));
  await bench.part(`one role changed among ${MANY_ROLES}`, () => oneChangedRole(bench));
  await bench.part('access index at start', () => startOfGateway(bench));
}

/** The cost of a decision may not depend on how many roles others hold. */
async function curveOfRoles(bench: Bench): Promise<void> {
  const works = CURVE_ROLES.map((roles) => {
    bench.note(`${roles} roles × 10 statements`);
    const size = { roles, statementsPerRole: 10, principals: 500, questions: QUESTIONS };
    const workload = makeWorkload(size, seededRandom(5));
    return asking(engineOf(workload), workload);
  });
  const [work, ...others] = works;
  // Otherwise the garbage of the preparation is collected while decisions are measured.
  collectGarbage();
  const measured = await measureInTurn([work!, ...others], ASKING);
  const ours = measured.map(({ cpuMs }, index): [number, number] => [CURVE_ROLES[index]!, perSecond(cpuMs, QUESTIONS)]);
  const [first, last] = [ours[0]!, lastOf(ours)];
  bench.add({
    work: `policy decision, ${last[0]} roles`,
    unit: 'decisions/s',
    better: 'more',
    ours: last[1],
    peer: `the same with ${first[0]} roles`,
    theirs: first[1],
    goal: atMostTimes(3),
  });
  bench.curve({
    id: 'decisions-by-roles',
    title: 'Policy decisions by the number of roles',
    x: { label: 'roles with 10 statements each', unit: '', scale: 'log' },
    y: { label: 'rate', unit: 'decisions per CPU second', scale: 'linear' },
    series: [{ name: 'olap-warden, 500 principals with 1 to 5 roles each', points: ours }],
    note: 'A principal holds one to five roles in each point. With ten roles the principals share them, and their decisions share the processor caches; with more roles each principal has its own.',
  });
}

/** 1,000 roles × 10 statements, 500 principals with 1–5 roles, 100,000 questions. */
async function decisions(bench: Bench): Promise<void> {
  const work = 'policy decision, 1,000 roles × 10 statements';
  const workload = makeWorkload(
    { roles: 1000, statementsPerRole: 10, principals: 500, questions: QUESTIONS },
    seededRandom(1),
  );
  const engine = engineOf(workload);
  const cpuMs: number[] = [];
  // Before, between and after the peers, because the speed of a shared machine changes within seconds.
  const askOurs = async (): Promise<boolean[]> => {
    collectGarbage();
    const ours = await measure(asking(engine, workload), ASKING);
    cpuMs.push(ours.cpuMs);
    return ours.answer;
  };
  const answer = await askOurs();
  const part = workload.questions.slice(0, PEER_QUESTIONS);
  const expected = answer.slice(0, PEER_QUESTIONS);

  bench.note('cedar-wasm: a preparsed policy set for each principal');
  for (const [index, names] of workload.roles.entries()) prepareCedar(`principal-${index}`, specsOf(workload, names));
  const contexts = part.map(({ action, resource }) => cedarContext(action, resource, DEPLOYMENT));
  const cedar = await measure(
    () => part.map(({ principal }, index) => askPrepared(`principal-${principal}`, contexts[index]!)),
    { rounds: 3 },
  );

  await askOurs();
  bench.note('casbin: an enforcer for each principal');
  const enforcers = await Promise.all(workload.roles.map((names) => prepareCasbin(specsOf(workload, names))));
  const casbin = await measure(
    () => part.map(({ principal, action, resource }) => askCasbin(enforcers[principal]!, action, resource)),
    { rounds: 3 },
  );

  bench.note('OPA: a prepared query for each principal');
  const opa = await askOpa(workload, part);
  await askOurs();

  const rate = perSecond(median(cpuMs), QUESTIONS);
  const row = { work, unit: 'decisions/s', better: 'more', ours: rate } as const;
  bench.add({ ...row, goal: NO_GOAL });
  for (const [peer, measured] of [
    ['cedar-wasm', cedar],
    ['casbin', casbin],
  ] as const) {
    const theirs = perSecond(measured.cpuMs, part.length);
    bench.add({ ...row, peer, theirs, answers: [expected, measured.answer], goal: atLeastTimes(10) });
  }
  addOpaRow(bench, row, opa, expected);
}

/** One principal with 1,000 statements, compared with a principal with ten. */
async function largePrincipal(bench: Bench): Promise<void> {
  const workload = makeWorkload(
    { roles: 1, statementsPerRole: 1000, principals: 1, questions: QUESTIONS },
    seededRandom(2),
  );
  const measured = await measure(asking(engineOf(workload), workload), ASKING);
  prepareCedar('large', specsOf(workload, workload.roles[0]!));
  const part = workload.questions.slice(0, 200);
  const contexts = part.map(({ action, resource }) => cedarContext(action, resource, DEPLOYMENT));
  const cedar = await measure(() => contexts.map((context) => askPrepared('large', context)), { rounds: 3 });
  bench.note('OPA');
  const opa = await askOpa(workload, part);
  const row = {
    work: 'policy decision, a principal with 1,000 statements',
    unit: 'decisions/s',
    better: 'more',
    ours: perSecond(measured.cpuMs, QUESTIONS),
  } as const;
  bench.add({ ...row, goal: NO_GOAL });
  bench.add({
    ...row,
    peer: 'cedar-wasm',
    theirs: perSecond(cedar.cpuMs, part.length),
    answers: [measured.answer.slice(0, part.length), cedar.answer],
    goal: atLeastTimes(10),
  });
  addOpaRow(bench, row, opa, measured.answer.slice(0, part.length));
}

const CHANGES = 200;

/** A change of one role and its policy among 10,000, until the new decision; compared with rebuilding the index. */
async function oneChangedRole(bench: Bench): Promise<void> {
  const workload = makeWorkload(
    { roles: MANY_ROLES, statementsPerRole: 10, principals: 500, questions: 1 },
    seededRandom(3),
  );
  const engine = engineOf(workload);
  const touchAll = (of: DecisionEngine): void => {
    for (const principal of workload.principals) of.isAllowed(principal, 'Query', workload.questions[0]!.resource);
  };
  touchAll(engine);
  const holder = (name: string): Principal => {
    const index = workload.roles.findIndex((names) => names.includes(name));
    return workload.principals[Math.max(0, index)]!;
  };
  const held = [...new Set(workload.roles.flat())].slice(0, CHANGES);
  const holders = held.map(holder);
  let version = 0;
  const changed = await measure(() => {
    version++;
    for (const [index, name] of held.entries()) {
      engine.setPolicy(name, workload.policies.get(held[(index + version) % held.length]!));
      engine.setRole(name, [name]);
      engine.isAllowed(holders[index]!, 'Query', workload.questions[0]!.resource);
    }
  });
  bench.note('rebuilding the whole index');
  const rebuilt = await measure(() => touchAll(engineOf(workload)), { rounds: 3 });
  bench.add({
    work: `one role changed among ${MANY_ROLES}`,
    unit: 'ms CPU',
    better: 'less',
    ours: changed.cpuMs / held.length,
    peer: 'rebuilding the index',
    theirs: rebuilt.cpuMs,
    goal: atMost(1, 'ms CPU'),
  });
}

/** The cost of the index at the start of a gateway; the suite `kubernetes` measures the whole start. */
async function startOfGateway(bench: Bench): Promise<void> {
  const count = MANY_ROLES;
  const workload = makeWorkload({ roles: count, statementsPerRole: 10, principals: 1, questions: 1 }, seededRandom(4));
  const objects = [...workload.policies].flatMap(([name, spec], index) => [
    policy(name, spec),
    role(name, { policies: [name] }),
    roleAssignment(name, { role: name, subjects: [{ type: 'user-email', name: `user-${index}@example.com` }] }),
  ]);
  const store = new MemoryStore();
  store.seed(...objects);
  collectGarbage();
  const heapBefore = process.memoryUsage().heapUsed;
  let directory: Directory | undefined;
  const started = await measure(
    () => {
      directory?.close();
      directory = new Directory(store, DEPLOYMENT);
      return directory.isAllowed(workload.principals[0]!, 'Query', workload.questions[0]!.resource);
    },
    { rounds: 3 },
  );
  collectGarbage();
  const heap = (process.memoryUsage().heapUsed - heapBefore) / 1024 / 1024;
  const work = `access index at start, ${count} roles, policies and assignments`;
  bench.add({ work: `${work}: time`, unit: 'ms', better: 'less', ours: started.wallMs, goal: atMost(3000, 'ms') });
  const memory = { work: `${work}: heap of the index`, unit: 'MB', better: 'less', ours: heap } as const;
  bench.add({ ...memory, goal: canCollectGarbage() ? atMost(100, 'MB') : NO_GOAL });
  directory?.close();
}

const ASKING = { rounds: 15, warmup: 6 };

/** Asks all questions. */
function asking(engine: DecisionEngine, { principals, questions }: Workload): () => boolean[] {
  return () =>
    questions.map(({ principal, action, resource }) => engine.isAllowed(principals[principal]!, action, resource));
}

function specsOf({ policies }: Workload, names: readonly string[]) {
  return names.map((name) => policies.get(name)!);
}

function perSecond(cpuMs: number, count: number): number {
  return (count / cpuMs) * 1000;
}

function canCollectGarbage(): boolean {
  return typeof globalThis.gc === 'function';
}

function collectGarbage(): void {
  globalThis.gc?.();
}

import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Controller } from '../../../src/operator/controller/controller-loop.ts';
import { policyReconciler } from '../../../src/operator/reconcilers/policy.ts';
import { roleReconciler } from '../../../src/operator/reconcilers/role.ts';
import { serviceTokenReconciler } from '../../../src/operator/reconcilers/service-token.ts';
import { hashesOf } from '../../../src/access/service-token.ts';
import { isOwnedByName } from '../../../src/operator/tokens/token-secret.ts';
import { PREDEFINED_POLICIES, PREDEFINED_ROLES } from '../../../src/access/policy/predefined.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { ANNOTATIONS } from '../../../src/resources/meta.ts';
import type { ResourceStore } from '../../../src/store/resource-store.ts';
import { roleAssignment } from '../../builders/resources.ts';
import { sharedControlPlane } from '../../support/control-plane.ts';
import { FakeRecorder, metrics, silent } from '../../unit/operator/fakes.ts';
import { soon } from './gateways.ts';
import { ADMINISTRATOR, stateAfter, stateIn } from './kill-steps.ts';
import { openStore } from './kill-stores.ts';
import { TEST_LIMIT_MS } from '../../support/limits.ts';
import { seeded } from '../../support/seed.ts';
import { within } from '../../support/until.ts';

/** `make test-races` runs 100 and 50. */
const FOLDER_KILLS = Number(process.env['KILLS'] ?? 8);
const KUBERNETES_KILLS = Number(process.env['KILLS'] ?? 8) / 2;
const PROGRAM = join(import.meta.dirname, 'kill-program.ts');
/** Acknowledged steps before a process is killed. */
const MIN_STEPS = 5;
const random = seeded();

/** Runs the program until it has acknowledged some steps, and a random time longer. @returns acknowledged steps by item */
async function runAndKill(prefix: string, where: readonly string[]): Promise<Map<string, number>> {
  const child = spawn(process.execPath, [PROGRAM, prefix, ...where], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  let output = '';
  try {
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    const closed = new Promise((resolve) => child.stdout.once('close', resolve));
    await soon(() => expect(output.match(/ \d+\n/g)?.length).toBeGreaterThanOrEqual(MIN_STEPS));
    await sleep(random.below(300));
    child.kill('SIGKILL');
    await within('the end of the killed program', Promise.all([exited, closed]));
  } finally {
    child.kill('SIGKILL');
  }
  const acknowledged = new Map<string, number>();
  for (const [, item = '', steps] of output.matchAll(/^(\S+) (\d+)$/gm)) acknowledged.set(item, Number(steps));
  return acknowledged;
}

async function prepare(store: ResourceStore): Promise<void> {
  for (const policy of PREDEFINED_POLICIES) await store.create('Policy', policy);
  for (const role of PREDEFINED_ROLES) await store.create('Role', role);
  const subjects = [{ type: 'user-email' as const, name: ADMINISTRATOR.id }];
  await store.create('RoleAssignment', roleAssignment('administrator', { role: 'system-admin', subjects }));
}

/** Runs the operator's controllers as of two minutes later, until they have removed what was left. */
async function cleanUp(store: ResourceStore, folder: boolean): Promise<void> {
  const clock = { ...systemClock, now: () => Date.now() + 120_000 };
  const ports = { store, recorder: new FakeRecorder(), clock, metrics: metrics(), log: silent };
  const tokens = serviceTokenReconciler(folder ? { owns: isOwnedByName } : {});
  const controllers = [
    new Controller(tokens, ports),
    new Controller(roleReconciler(), ports),
    new Controller(policyReconciler(), ports),
  ];
  for (const controller of controllers) controller.start();
  try {
    await soon(() => expect(leftovers(store)).toEqual([]));
  } finally {
    for (const controller of controllers) await controller.stop();
  }
}

function leftovers(store: ResourceStore): string[] {
  return [
    ...[...store.list('Role'), ...store.list('Policy')]
      .filter(({ metadata }) => metadata.annotations?.[ANNOTATIONS.deleting] !== undefined)
      .map(({ kind, metadata }) => `mark on ${kind} ${metadata.name}`),
    ...store
      .list('ServiceToken')
      .filter((token) => hashesOf(token) === undefined)
      .map(({ metadata }) => `token ${metadata.name} without hash`),
    ...store
      .list('RoleAssignment')
      .filter(({ spec }) => store.get('Role', spec.role) === undefined)
      .map(({ metadata }) => `assignment ${metadata.name} without role`),
    ...store
      .list('Role')
      .filter(({ spec }) => spec.policies?.some((policy) => store.get('Policy', policy) === undefined))
      .map(({ metadata }) => `role ${metadata.name} without policy`),
  ];
}

/** @returns acknowledged writes, and those in progress when the process was killed that took effect */
function check(store: ResourceStore, acknowledged: ReadonlyMap<string, number>): { writes: number; more: number } {
  let [writes, more] = [0, 0];
  for (const [item, steps] of acknowledged) {
    writes += steps;
    const state = stateIn(store, item);
    const inProgress = JSON.stringify(state) !== JSON.stringify(stateAfter(steps));
    if (inProgress) more++;
    expect(state, `${item} after ${steps} acknowledged steps`).toEqual(stateAfter(inProgress ? steps + 1 : steps));
  }
  return { writes, more };
}

async function killRepeatedly(kills: number, where: readonly string[]): Promise<void> {
  let [writes, more] = [0, 0];
  for (let round = 0; round < kills; round++) {
    const acknowledged = await runAndKill(`k${round}`, where);
    const { store, close } = await openStore(where);
    try {
      const found = check(store, acknowledged);
      writes += found.writes;
      more += found.more;
    } finally {
      await close();
    }
  }
  const { store, close } = await openStore(where);
  try {
    process.stdout.write(`${kills} kills, ${writes} acknowledged writes, ${more} unacknowledged ones took effect; `);
    process.stdout.write(`left before the operator ran: ${JSON.stringify(leftovers(store))}\n`);
    await cleanUp(store, where[0] === 'folder');
    expect(writes).toBeGreaterThanOrEqual(kills * MIN_STEPS);
  } finally {
    await close();
  }
}

describe('a gateway that is killed during writes', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'olap-warden-kill-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it(
    'loses no acknowledged write and leaves nothing behind: folder of manifests',
    { timeout: TEST_LIMIT_MS + FOLDER_KILLS * 40_000 },
    async () => {
      const where = ['folder', folder];
      const opened = await openStore(where);
      await prepare(opened.store);
      await opened.close();
      await killRepeatedly(FOLDER_KILLS, where);
      const files = await readdir(folder, { recursive: true });
      expect(files.filter((name) => name.endsWith('.tmp'))).toEqual([]);
    },
  );

  it(
    'loses no acknowledged write and leaves nothing behind: Kubernetes API',
    { timeout: TEST_LIMIT_MS + KUBERNETES_KILLS * 60_000 },
    async () => {
      const plane = await sharedControlPlane();
      await plane.applyCrds();
      const where = ['kubernetes', plane.kubeconfigPath, await plane.createNamespace('kill')];
      const opened = await openStore(where);
      await prepare(opened.store);
      await opened.close();
      await killRepeatedly(KUBERNETES_KILLS, where);
    },
  );
});

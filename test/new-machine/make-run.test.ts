import { createServer } from 'node:net';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../support/kubernetes/processes.ts';
import { TEST_LIMIT_MS } from '../support/limits.ts';
import { NewMachine } from '../support/new-machine.ts';
import type { Program } from '../support/processes.ts';
import { once } from '../support/once.ts';

// What a newcomer does first: the last commit, cloned onto a machine that never ran it. Every other test runs with the caches of a run before it.

const READY = 'Ctrl-C stops everything';
/** Ctrl-C in a terminal. */
const INTERRUPT = '\u0003';
/** The part of the unit tests that depends most on the machine, in seconds: `make test` runs all beside this. */
const SOME_UNIT_TESTS = 'test/unit/tools';
/** Downloads of 500 MB, over a slow network too. A fast one and two idle cores need two to three minutes. */
const START_LIMIT_MS = 2 * TEST_LIMIT_MS;

let cold: NewMachine;
let warm: NewMachine;

beforeAll(async () => {
  cold = await NewMachine.create({ name: 'root' });
  // A strict umask, a path with a blank, and a user without rights.
  warm = await NewMachine.create({ name: 'a user', unprivileged: true, umask: '077' });
}, TEST_LIMIT_MS);
afterAll(async () => {
  for (const machine of [cold, warm]) await machine?.remove();
});

async function ports(): Promise<{ PORT: string; METRICS_PORT: string }> {
  const [port, metricsPort] = (await freePorts(2)) as [number, number];
  return { PORT: `${port}`, METRICS_PORT: `${metricsPort}` };
}

/** Runs the three commands of the welcome text. */
async function pasteWelcome(machine: NewMachine, output: string): Promise<void> {
  const lines = output.split(/\r?\n/).filter((line) => /^(id=\$\()?curl /.test(line));
  expect(lines).toHaveLength(3);
  const [role, health, page] = await Promise.all(lines.map((line) => machine.paste(line)));
  expect(JSON.parse(role ?? '')).toMatchObject({ srn: expect.stringMatching(/^srn2:role#team-\d+$/) });
  const { checks } = JSON.parse(health ?? '') as { checks: { status: string }[] };
  expect(checks.filter(({ status }) => status !== 'PASS')).toEqual([]);
  expect(JSON.parse(page ?? '')).toMatchObject({ offset: 5, numRows: 5, numRowsResultSet: 1000 });
}

/** The home has the caches of npm and of the parts, and the counters that Go writes whenever it runs; nothing else. */
async function expectCachesOnly({ home }: NewMachine): Promise<void> {
  const found = (await readdir(home)).filter((name) => name !== '.config');
  expect(found.toSorted()).toEqual(['.cache', '.npm']);
  expect(await readdir(join(home, '.cache'))).toEqual(['olap-warden']);
  expect(await readdir(join(home, '.config')).catch(() => ['go'])).toEqual(['go']);
}

/** Nothing of the machine runs or listens after Ctrl-C. */
async function expectStopped(machine: NewMachine, program: Program, own: Record<string, string>): Promise<void> {
  await program.exited;
  await machine.untilIdle();
  for (const port of Object.values(own)) {
    const server = createServer().listen(Number(port));
    await once(server, 'listening');
    await once(server.close(), 'close');
  }
  expect(program.output).not.toMatch(/error:|No such|cannot|line \d+:/);
}

describe('on a new machine', { timeout: START_LIMIT_MS + TEST_LIMIT_MS }, () => {
  it('`make run` in a terminal downloads everything, becomes ready, and stops on Ctrl-C', async () => {
    const own = await ports();
    const program = cold.startInTerminal('make run', own);
    await program.printed(READY, START_LIMIT_MS);
    await pasteWelcome(cold, program.output);
    program.type(INTERRUPT);
    await expectStopped(cold, program, own);
    await expectCachesOnly(cold);
  });

  it('`make test-unit` installs what it needs, as a user who is not root, in a path with a blank, with umask 077', async () => {
    await warm.copyHome(cold, ['.npm']);
    const program = warm.start(['make', 'test-unit', `ONLY=${SOME_UNIT_TESTS}`]);
    // Longer than the limit of a wait: it installs Node and all packages first. The test has a limit.
    expect(await program.ended, program.output).toBe(0);
    expect(program.output).toMatch(/Tests.*\d+ passed/);
    await warm.untilIdle();
    await expectCachesOnly(warm);
  });

  it('`make run` works for that user without a terminal', async () => {
    const parts = (await readdir(join(cold.home, '.cache/olap-warden'))).filter((name) =>
      /^(pinot|sample)-/.test(name),
    );
    await warm.copyHome(
      cold,
      parts.map((name) => join('.cache/olap-warden', name)),
    );
    const own = await ports();
    const program = warm.start(['make', 'run'], own);
    await program.printed(READY, START_LIMIT_MS);
    await pasteWelcome(warm, program.output);
    program.signalGroup('SIGINT');
    await expectStopped(warm, program, own);
  });
});

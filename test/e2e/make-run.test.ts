import { mkdir, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CATALOGUE } from '../../src/health/catalogue.ts';
import { named, NOT_ROOT } from '../support/documents/obstacle.ts';
import { freePorts } from '../support/kubernetes/processes.ts';
import { Program } from '../support/processes.ts';
import { WAIT_LIMIT_MS } from '../support/limits.ts';
import { once } from '../support/once.ts';
import { execute } from '../support/execute.ts';

const root = resolve(import.meta.dirname, '../..');
/** For a busy machine. A quiet one starts everything in half a minute, and again within seconds. */
const START_LIMIT_MS = 300_000;

let dataDir: string;
let port: number;
let metricsPort: number;
let program: Program;

function makeRun(settings: Record<string, string> = {}): Program {
  // The variables of a surrounding `make` must not reach this one.
  const { MAKEFLAGS: _flags, MAKELEVEL: _level, MFLAGS: _old, ...env } = process.env;
  const own = { PORT: String(port), METRICS_PORT: String(metricsPort), DATA_DIR: dataDir };
  return new Program('make', ['run'], { cwd: root, env: { ...env, ...own, ...settings } });
}

/** Runs a line in a shell. */
async function paste(line: string): Promise<string> {
  const { stdout } = await execute('sh', ['-c', line], { cwd: root, timeout: WAIT_LIMIT_MS });
  return stdout;
}

function printedLines(): string[] {
  return program.output.split('\n').filter((line) => /^(id=\$\()?curl /.test(line));
}

/** Processes whose command line names the data folder. */
async function leftovers(): Promise<string[]> {
  const { stdout } = await execute('ps', ['-eo', 'pid=,args=']);
  return stdout.split('\n').filter((line) => line.includes(dataDir));
}

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'olap-warden-run-'));
  [port, metricsPort] = (await freePorts(2)) as [number, number];
  program = makeRun();
  await program.printed('Ctrl-C stops everything', START_LIMIT_MS);
}, START_LIMIT_MS);

afterAll(async () => {
  program.signalGroup('SIGINT');
  await program.exited;
  await rm(dataDir, { recursive: true, force: true });
});

describe('make run', () => {
  let role: string;

  it('prints a line that creates a role', async () => {
    const answer = JSON.parse(await paste(printedLines()[0] ?? '')) as Record<string, string>;
    role = answer['srn'] ?? '';
    expect(role).toMatch(/^srn2:role#team-\d+$/);
    expect(answer['createdBy']).toMatch(/^srn2:/);
  });

  it('prints a line that reads the health report', async () => {
    const report = JSON.parse(await paste(printedLines()[1] ?? '')) as {
      runTimestamp: number;
      checks: { name: string; status: string }[];
    };
    expect(report.runTimestamp).toBeGreaterThan(0);
    // None is disabled, and all pass: a newcomer sees a healthy cluster.
    expect(report.checks.map(({ name }) => name).toSorted()).toEqual(CATALOGUE.map(({ name }) => name).toSorted());
    expect(report.checks.filter(({ status }) => status !== 'PASS')).toEqual([]);
    expect(report.checks).toContainEqual(expect.objectContaining({ name: 'QUERY_HEALTH_CHECK', status: 'PASS' }));
  });

  it('prints a line that pages through a query, with every digit of its numbers', async () => {
    const text = await paste(printedLines()[2] ?? '');
    const page = JSON.parse(text) as { offset: number; numRows: number; numRowsResultSet: number };
    expect(page).toMatchObject({ offset: 5, numRows: 5, numRowsResultSet: 1000 });
    // The sixth order: a JavaScript number would lose its last digit.
    expect(text).toContain('9007199254740998');
    expect(text).toContain('9007199254741002');
  });

  it('writes the log to a file, and no token to it', async () => {
    const token = (await readFile(join(dataDir, 'admin-token'), 'utf8')).trim();
    const log = await readFile(join(dataDir, 'log/olap-warden.log'), 'utf8');
    expect(log).toContain('health run completed');
    for (const text of [log, program.output]) expect(text).not.toContain(token);
    expect(program.output).not.toContain('"level"');
    expect(program.output).toContain(join(dataDir, 'log/olap-warden.log'));
  });

  it.skipIf(NOT_ROOT)(named('says what to do when the folder has too little space', NOT_ROOT), async () => {
    const small = join(dataDir, 'small');
    await mkdir(small);
    await execute('mount', ['-t', 'tmpfs', '-o', 'size=10m', 'tmpfs', small]);
    try {
      const [other, third] = (await freePorts(2)) as [number, number];
      const full = makeRun({ DATA_DIR: small, PORT: String(other), METRICS_PORT: String(third) });
      expect(await full.exited).not.toBe(0);
      expect(full.output).toMatch(/small has \d+ MB of free space, but the sample cluster needs 1,000 MB/);
      expect(full.output).toContain('make run DATA_DIR=');
    } finally {
      await execute('umount', [small]);
    }
  });

  it('creates the administrator’s token with mode 0600', async () => {
    expect((await stat(join(dataDir, 'admin-token'))).mode & 0o777).toBe(0o600);
    const token = (await readFile(join(dataDir, 'admin-token'), 'utf8')).trim();
    expect(token.length).toBeGreaterThan(20);
  });

  it('reports ports in use and suggests another one', async () => {
    const second = makeRun({ DATA_DIR: join(dataDir, 'other') });
    expect(await second.exited).not.toBe(0);
    expect(second.output).toContain(`port ${port} (PORT) is in use by another program`);
    expect(second.output).toContain(`make run PORT=${port + 1}`);
  });

  it('stops everything on Ctrl-C, and restarts with the same data', { timeout: 2 * START_LIMIT_MS }, async () => {
    program.signalGroup('SIGINT');
    await program.exited;
    expect(await leftovers()).toEqual([]);
    for (const freed of [port, metricsPort]) {
      const server = createServer().listen(freed);
      await once(server, 'listening');
      await once(server.close(), 'close');
    }

    program = makeRun();
    await program.printed('Ctrl-C stops everything', START_LIMIT_MS);
    const roles = await paste(
      `curl -sS -H "Authorization: Bearer $(cat ${dataDir}/admin-token)" http://localhost:${port}/api/v1/rbac-manager/roles`,
    );
    expect(roles).toContain(role);
  });
});

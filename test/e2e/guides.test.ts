import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { named, NO_CURL } from '../support/documents/obstacle.ts';
import { ROOT } from '../support/documents/pages.ts';
import { BLOCKS } from '../support/documents/blocks.ts';
import { blocksOf } from '../support/documents/shell-blocks.ts';
import { DocumentShell } from '../support/documents/shell.ts';
import { freePorts } from '../support/kubernetes/processes.ts';
import { TEST_LIMIT_MS } from '../support/limits.ts';
import { Program } from '../support/processes.ts';
import { pythonWithDataFrames } from '../integration/clients/install.ts';

// Runs the commands of the guides as they stand, with the sample cluster of `make run`.
const OWN = 'test/e2e/guides.test.ts';
/** For a busy machine. A quiet one starts everything in half a minute. */
const START_LIMIT_MS = 300_000;
/** Between the outputs of two blocks. */
const END_OF_BLOCK = '\u0000';

describe.skipIf(NO_CURL)(named('the commands of the guides', NO_CURL), () => {
  const ran = new Set<string>();
  let dataDir: string;
  let program: Program;
  let shell: DocumentShell;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'olap-warden-guides-'));
    const [port, metricsPort] = (await freePorts(2)) as [number, number];
    // The variables of a surrounding `make` must not reach this one.
    const { MAKEFLAGS: _flags, MAKELEVEL: _level, MFLAGS: _old, ...env } = process.env;
    const own = { PORT: String(port), METRICS_PORT: String(metricsPort), DATA_DIR: dataDir };
    program = new Program('make', ['run'], { cwd: ROOT, env: { ...env, ...own } });
    shell = await DocumentShell.create({
      cwd: ROOT,
      env: own,
      places: {
        'http://localhost:8080': `http://localhost:${port}`,
        'http://localhost:9090': `http://localhost:${metricsPort}`,
        ' data/': ` ${dataDir}/`,
      },
    });
    await program.printed('Ctrl-C stops everything', START_LIMIT_MS);
  }, START_LIMIT_MS);
  afterAll(async () => {
    program?.signalGroup('SIGINT');
    await program?.exited;
    await shell?.remove();
    await rm(dataDir, { recursive: true, force: true });
  });

  /** Runs all blocks of a guide in one shell, as a reader does. @returns what each block printed */
  async function walk(page: string): Promise<string[]> {
    const blocks = blocksOf(OWN).filter(({ path }) => path === page);
    for (const { path, index } of blocks) ran.add(`${path} ${index}`);
    const script = blocks.map(({ text }) => `${text}printf '\\0'\n`).join('');
    const { code, stdout, stderr } = await shell.run(script);
    expect({ page, code, stderr }).toMatchObject({ code: 0 });
    return stdout.split(END_OF_BLOCK).slice(0, -1);
  }

  it('Ten minutes', { timeout: 2 * TEST_LIMIT_MS }, async () => {
    const printed = await walk('docs/guides/ten-minutes.md');
    const [, role = '', token = '', refused = '', simulated = '', page = '', red = '', green = ''] = printed;
    expect(role).toContain('"srn":"srn2:role#team-a"');
    expect(token).not.toContain('"error"');
    const [answered = '', forbidden = ''] = refused.trim().split('\n');
    expect(JSON.parse(answered)).toMatchObject({ resultTable: { rows: [[1_000_000]] } });
    expect(JSON.parse(forbidden)).toMatchObject({
      status: 403,
      message: expect.stringContaining('srn2:table#customers'),
    });
    expect(simulated).toContain('DENY');
    const [second = '', , header, first] = page.split(/\r?\n/);
    expect(JSON.parse(second)).toMatchObject({ offset: 2, numRows: 2, numRowsResultSet: 1_000 });
    expect([header, first]).toEqual(['orderId,city', expect.stringMatching(/^9007199254740\d{3},/)]);
    expect(red).toContain('FAIL SEGMENTS_WITHOUT_ONLINE_REPLICA_CHECK (critical)');
    expect(green).toContain(' 0 failed');
  });

  it('Health at night', { timeout: 2 * TEST_LIMIT_MS }, async () => {
    const printed = await walk('docs/guides/health-at-night.md');
    const [, metrics = '', report = '', runbook = '', ideal = '', cause = '', mended = ''] = printed;
    expect(metrics).toContain('check="SEGMENTS_WITHOUT_ONLINE_REPLICA_CHECK"');
    expect(report).toContain('types_OFFLINE');
    expect(runbook).toContain('<h2 id="mitigation">');
    expect(ideal).toContain('"OFFLINE"');
    expect(cause.trim()).toBe('"enabled":false');
    expect(JSON.parse(mended.trim().split('\n').at(-1) ?? '')).toMatchObject({ summary: { fail: 0 }, checks: [] });
    const [mute = '', unmuted = '', history = ''] = printed.slice(7);
    expect(mute).toContain('second server arrives tomorrow');
    expect(unmuted).not.toContain('"error"');
    expect(history).toContain('SEGMENTS_WITHOUT_ONLINE_REPLICA_CHECK');
  });

  it('Access for a team', async () => {
    const printed = await walk('docs/guides/access-for-a-team.md');
    const [, , , , granted = '', refused = '', guest = '', answers = '', removed = ''] = printed;
    for (const text of [...printed.slice(0, 5), guest, answers, removed]) expect(text).not.toContain('"error"');
    expect(granted).toContain('"srn":"srn2:role#sales-analysts"');
    expect(JSON.parse(refused)).toMatchObject({
      status: 403,
      message: expect.stringContaining('srn2:table#customers'),
    });
    expect(guest).toContain('"expiresAt"');
    expect(answers).toContain('"ALLOW"');
  });

  it('Results in pandas, DuckDB, Spark', async () => {
    const page = 'docs/guides/results-in-data-frames.md';
    const python = BLOCKS.filter(({ path, language }) => path === page && language === 'python');
    const frames = await pythonWithDataFrames();
    const commands = blocksOf(OWN).filter(({ path }) => path === page);
    for (const { path, index } of commands) ran.add(`${path} ${index}`);
    // The program in Python is between the download and the deletion.
    const programs = python.map(({ text }) => `PYTHONPATH='${frames}' python3 - <<'END'\n${text}END\n`);
    const script = [...commands.slice(0, -1).map(({ text }) => text), ...programs, commands.at(-1)!.text].join('');
    const { code, stdout, stderr } = await shell.run(`cd '${dataDir}'\n${script}`);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    // The file and the stream have the same rows; a floating-point number would lose the last digits.
    const [file, stream] = stdout.match(/^100000 90071992\d{8}$/gm) ?? [];
    expect(file).toBeDefined();
    expect(stream).toBe(file);
    expect(stdout).toContain('varchar');
  });

  it('are all run', () => {
    const assigned = blocksOf(OWN).map(({ path, index }) => `${path} ${index}`);
    expect([...ran].toSorted()).toEqual(assigned.toSorted());
  });
});

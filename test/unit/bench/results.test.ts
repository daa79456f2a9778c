import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { documentOf } from '../../../bench/document.ts';
import type { Finding } from '../../../bench/frame/bench.ts';
import { merge, readResults, resultOf, writeResults } from '../../../bench/frame/results.ts';
import { NO_GOAL, rowOf } from '../../../bench/frame/rows.ts';
import { chooseSuites, SUITES } from '../../../bench/suites.ts';
import { runSuite } from '../../../bench/suite-process.ts';

const machine = { cpu: 'a CPU', cores: 2, memoryGb: 8, kernel: 'Linux 6', loadBefore: 0.1 };
const runOf = (name: string) => ({ name, date: '2026-01-02T03:04:05Z', seconds: 7, full: false, machine });
const row = rowOf({ work: 'a | b', unit: 'ms', better: 'less', ours: 1, peer: 'p', theirs: 2, goal: NO_GOAL });
const axis = { label: 'roles', unit: '', scale: 'log' } as const;
const curve = {
  id: 'a-curve',
  title: 'A curve',
  x: axis,
  y: axis,
  series: [{ name: 'ours', points: [[1, 2]] }],
} as const;

describe('the results of the benchmark', () => {
  it('keep the suites that did not run, in the order of the suites', () => {
    const [a, b, fresh] = [resultOf(runOf('a'), []), resultOf(runOf('b'), []), resultOf(runOf('a'), [], 'why')];
    expect(merge([b, a], fresh, ['a', 'b'])).toEqual([fresh, b]);
    expect(merge([a, b], resultOf(runOf('c'), []), ['c', 'b']).map(({ name }) => name)).toEqual(['c', 'b']);
  });

  it('have a row that says why a suite failed', () => {
    expect(resultOf(runOf('a'), [], 'out of memory').rows).toMatchObject([{ met: false, reason: 'out of memory' }]);
  });

  it('make a document with what is known about missed goals', () => {
    const missed = (work: string, reason?: string) => ({ ...row, work, met: false, ...(reason && { reason }) });
    const works = ['a query for 10 rows on Pinot 0.11, 8 clients: p50', 'indexing 1 M rows, js', 'another'];
    const rows: Finding[] = [
      ...works.map((work) => missed(work)),
      missed('indexing 1 M rows, js: again', 'just so'),
    ].map((one) => ({ kind: 'row', row: one }));
    rows.push({ kind: 'row', row: { ...row, work: 'a query for 10 rows on Pinot 0.11, 64 clients: p99' } });
    const document = documentOf([resultOf(runOf('broker'), rows)]).get('docs/performance.md') ?? '';
    const lineOf = (work: string) => document.split('\n').find((line) => line.startsWith(`- ${work}: `)) ?? '';
    expect(lineOf(works[0]!)).toContain('. Pinot and the gateway share the cores');
    expect(lineOf('indexing 1 M rows, js: again')).toMatch(/goal –\. just so$/);
    expect(lineOf('another')).toMatch(/goal –\. Its reason is not known yet$/);
    // A goal that is met needs no reason.
    expect(document.match(/share the cores/g)).toHaveLength(1);
  });

  it('make a document with the machine, the versions, the rows and the pictures', () => {
    const findings: Finding[] = [
      { kind: 'row', row },
      { kind: 'curve', curve },
      { kind: 'version', program: 'nginx', version: '1.22' },
      { kind: 'profile', profile: { work: 'Decision', top: [{ name: 'decide', share: 0.5 }] } },
    ];
    const files = documentOf([resultOf(runOf('decisions'), findings, 'no memory')]);
    const text = files.get('docs/performance.md')!;
    expect(text).toContain('2 × a CPU, 8 GB, Linux 6');
    expect(text).toContain('nginx 1.22');
    expect(text).toContain('| a \\| b | 1 ms | p | 2 | 2× | – | – |');
    expect(text).toContain('- the suite decisions: could not be measured. no memory');
    expect(text).toContain('(images/performance/a-curve.svg)');
    expect(text).toContain('| `decide` | 50 % |');
    expect(files.get('docs/images/performance/a-curve.svg')).toContain('</svg>');
  });
});

describe('the choice of suites', () => {
  it('is all of them, or those named', () => {
    expect(chooseSuites('')).toBe(SUITES);
    expect(chooseSuites('sql,decisions').map(({ name }) => name)).toEqual(['decisions', 'sql']);
    expect(() => chooseSuites('sql,paegs')).toThrow('unknown suite `paegs`; known are decisions, sql');
  });

  it('takes at most 40 minutes by default', () => {
    expect(SUITES.reduce((sum, { seconds }) => sum + seconds, 0)).toBeLessThanOrEqual(40 * 60);
  });
});

describe('a suite in its process', () => {
  let folder = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'olap-warden-bench-test-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function outcomeOf(source: string, limitSeconds = 600) {
    const program = join(folder, 'suite.mjs');
    await writeFile(program, source);
    const seen: Finding[] = [];
    const outcome = await runSuite('a', { program, limitSeconds, onFinding: (finding) => seen.push(finding) });
    expect(seen).toEqual(outcome.findings);
    return outcome;
  }

  it('reports what it finds', async () => {
    const source = `process.send({ kind: 'note', text: process.argv[2] }, () => process.exit(0));`;
    const { findings, failure } = await outcomeOf(source);
    expect(findings).toEqual([{ kind: 'note', text: 'a' }]);
    expect(failure).toBeUndefined();
  });

  it('keeps what it found before it failed', async () => {
    const source = `process.send({ kind: 'note', text: 'first' }, () => { throw new TypeError('no such table'); });`;
    const { findings, failure } = await outcomeOf(source);
    expect(findings).toHaveLength(1);
    expect(failure).toBe('no such table');
  });

  it('is stopped with its own processes when the time is over', async () => {
    const pidFile = join(folder, 'pid');
    const source = `
      import { spawn } from 'node:child_process';
      import { writeFileSync } from 'node:fs';
      const child = spawn('sleep', ['1000'], { detached: true });
      writeFileSync(${JSON.stringify(pidFile)}, String(child.pid));`;
    const { failure } = await outcomeOf(source, 3);
    expect(failure).toBe('it took more than 3 s');
    const pid = await readFile(pidFile, 'utf8').catch(() => undefined);
    // On a very busy machine the program did not even start in this time.
    if (pid !== undefined) await expect.poll(() => isRunning(Number(pid))).toBe(false);
  });
});

async function isRunning(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return status !== '' && !status.includes(') Z ');
}

describe('the file of results', () => {
  it('is empty before the first run, and is read as it was written', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'olap-warden-bench-test-'));
    try {
      const path = join(folder, 'results.json');
      expect(await readResults(path)).toEqual([]);
      const results = [resultOf(runOf('a'), [{ kind: 'row', row }])];
      await writeResults(path, results);
      expect(await readResults(path)).toEqual(results);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { documentOf, RESULTS } from '../../../bench/document.ts';
import type { Finding } from '../../../bench/frame/bench.ts';
import { merge, readResults, resultOf } from '../../../bench/frame/results.ts';
import { NO_GOAL, rowOf } from '../../../bench/frame/rows.ts';
import { chooseSuites, SUITES } from '../../../bench/suites.ts';
import { HIGHLIGHTS } from '../../../bench/summary.ts';
import { ROOT } from '../../support/documents/pages.ts';

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
    const document = documentOf([resultOf(runOf('broker'), rows)]).get('bench/results.md') ?? '';
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
    const text = files.get('bench/results.md')!;
    expect(text).toContain('2 × a CPU, 8 GB, Linux 6');
    expect(text).toContain('nginx 1.22');
    expect(text).toContain('| a \\| b | 1 ms | p | 2 | 2× | – | – |');
    expect(text).toContain('- the suite decisions: could not be measured. no memory');
    expect(text).toContain('| `decide` | 50 % |');
    expect(files.get('docs/performance.md')).toContain('(images/performance/a-curve.svg)');
    expect(files.get('docs/images/performance/a-curve.svg')).toContain('</svg>');
  });
});

describe('the page for users', () => {
  it('has a figure for each of its lines', async () => {
    const rows = (await readResults(join(ROOT, RESULTS))).flatMap((result) => result.rows);
    const missing = HIGHLIGHTS.filter(
      ({ work, peer }) => !rows.some((one) => one.work === work && (peer === undefined || one.peer === peer)),
    );
    expect(missing).toEqual([]);
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

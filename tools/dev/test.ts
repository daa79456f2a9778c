// `make test`: lint, verify and all tests. The real parts are installed while the quick steps run. The last line is the total.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { useOwnHome, writtenTo } from '../../test/support/own-home.ts';
import { parallelFiles } from '../../test/support/parallel-files.ts';
import { total, type Count } from './skips.ts';

const root = resolve(import.meta.dirname, '../..');
const bin = join(root, 'node_modules/.bin');

/** @returns the exit code; 1 when a signal ended the program */
async function exec(file: string, args: readonly string[]): Promise<number> {
  const child = spawn(file, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

/** Runs a program as a step; it counts as one test. */
async function step(name: string, file: string, args: readonly string[]): Promise<Count> {
  const begun = Date.now();
  const code = await exec(file, args);
  process.stdout.write(`${code === 0 ? '✓' : '✗'} ${name} (${((Date.now() - begun) / 1_000).toFixed(1)} s)\n`);
  return code === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1, failures: [name] };
}

/** Status of tests that did not run, in vitest's JSON report. */
const NOT_RUN: ReadonlySet<string> = new Set(['skipped', 'pending', 'todo', 'disabled']);

interface Report {
  readonly numPassedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

/** Runs vitest projects. A file that fails to load and an error outside of tests count as failed tests. */
async function vitest(folder: string, projects: readonly string[]): Promise<Count> {
  const file = join(folder, `${projects.join('-')}.json`);
  const selection = projects.flatMap((project) => ['--project', project]);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const code = await exec(join(bin, 'vitest'), ['run', ...selection, ...reporters]);
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return { passed: 0, failed: 1, failures: [`${projects.join(', ')}: no report was written`] };
  const report = JSON.parse(text) as Report;
  const failures = report.testResults.flatMap(failuresOf);
  if (failures.length === 0 && code !== 0)
    failures.push(`${projects.join(', ')}: an error outside of tests; see "Unhandled Errors" above`);
  const tests = report.testResults.flatMap(({ assertionResults }) => assertionResults);
  const skipped = tests.filter(({ status }) => NOT_RUN.has(status)).map(({ fullName }) => fullName);
  return { passed: report.numPassedTests, failed: failures.length, failures, skipped };
}

function failuresOf({ name, status, assertionResults }: Report['testResults'][number]): string[] {
  const file = relative(root, name);
  const failed = assertionResults.filter((test) => test.status === 'failed');
  if (failed.length === 0 && status === 'failed')
    return [`${file}: could not be loaded, or failed outside of its tests`];
  return failed.map(({ fullName }) => `${file}: ${fullName}`);
}

function add(counts: readonly Count[]): Count {
  return {
    passed: counts.reduce((sum, { passed }) => sum + passed, 0),
    failed: counts.reduce((sum, { failed }) => sum + failed, 0),
    failures: counts.flatMap(({ failures = [] }) => failures),
    skipped: counts.flatMap(({ skipped = [] }) => skipped),
  };
}

async function all(folder: string): Promise<Count> {
  // Before any output of the steps.
  const files = parallelFiles();
  process.stdout.write(
    `lint, verify, unit tests and the tests on real parts, ${files} ${files === 1 ? 'file' : 'files'} at a time: ` +
      '30 to 45 minutes on two idle cores with 24 GB of memory, about an hour with less\n',
  );
  await exec(process.execPath, ['tools/dev/parts.ts', '--plan']);
  const parts = step('build the real parts', process.execPath, ['tools/dev/parts.ts', '--no-plan']);
  // Most of its time it downloads or waits for one program.
  const newMachine = vitest(folder, ['new-machine']);
  const quick = [
    await step('lint: rules', join(bin, 'oxlint'), ['--type-aware', '--deny-warnings']),
    await step('lint: types', join(bin, 'tsc'), ['--noEmit']),
    await step('lint: types of the dashboard', join(bin, 'tsc'), ['--noEmit', '-p', 'web']),
    await step('lint: format', join(bin, 'oxfmt'), ['--check']),
    await step('verify: generated files are up to date', process.execPath, ['tools/generate.ts', '--check']),
    await step('build the dashboard', process.execPath, ['web/build.ts']),
    await vitest(folder, ['unit']),
  ];
  const installed = await parts;
  quick.push(installed, await newMachine);
  // The other tests need the parts.
  if (installed.failed > 0) return add(quick);
  const [chart, others] = await Promise.all([
    step('lint: the chart', process.execPath, ['tools/helm/lint.ts']),
    vitest(folder, ['integration', 'e2e']),
  ]);
  return add([...quick, chart, others, homeCount(folder)]);
}

/** The programs of the steps write nothing to the home but caches. It counts as one test. */
function homeCount(folder: string): Count {
  const written = writtenTo(folder);
  process.stdout.write(`${written.length === 0 ? '✓' : '✗'} nothing is written to the home ${written.join(' ')}\n`);
  return written.length === 0
    ? { passed: 1, failed: 0 }
    : { passed: 0, failed: 1, failures: [`written to the home: ${written.join(' ')}`] };
}

const folder = await mkdtemp(join(tmpdir(), 'olap-warden-test-'));
useOwnHome(folder);
try {
  const { text, failed } = total(await all(folder));
  process.exitCode = failed === 0 ? 0 : 1;
  process.stdout.write(text);
} finally {
  await rm(folder, { recursive: true, force: true });
}

import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../support/kubernetes/processes.ts';
import { TEST_LIMIT_MS, WAIT_LIMIT_MS } from '../support/limits.ts';
import { sharedPinot, type PinotClient } from '../support/pinot.ts';
import { Program } from '../support/processes.ts';
import { execute as run } from '../support/execute.ts';

const root = resolve(import.meta.dirname, '../..');
/** The files of the package, besides those in these folders. */
const FOLDERS = /^package\/(dist|docs\/checks|web\/dist)\//;
const FILES = [
  'LICENSE',
  'README.md',
  'THIRD-PARTY-NOTICES.txt',
  'bin/olap-warden.js',
  'package.json',
  'sbom.cdx.json',
].map((file) => `package/${file}`);

/** The package of `make package`, installed in an empty folder, as a user does it. */
describe('the npm package', () => {
  let folder: string;
  let pinot: PinotClient;

  beforeAll(async () => {
    pinot = await sharedPinot();
    folder = await mkdtemp(join(tmpdir(), 'olap-warden-package-'));
    const program = join(folder, 'program');
    await run(process.execPath, ['tools/package/build.ts', program], { cwd: root, timeout: TEST_LIMIT_MS });
    await run('npm', ['pack', '--silent', program], { cwd: folder, timeout: TEST_LIMIT_MS });
    await rm(program, { recursive: true });
    await run('mv', [await tarball(), 'package.tgz'], { cwd: folder });
    await writeFile(join(folder, 'package.json'), '{}');
    // It contains its dependencies: nothing is downloaded.
    const install = ['install', '--offline', '--no-audit', '--no-fund', '--silent', './package.tgz'];
    await run('npm', install, { cwd: folder, timeout: TEST_LIMIT_MS });
  }, TEST_LIMIT_MS);
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  async function tarball(): Promise<string> {
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
    return `olap-warden-${version}.tgz`;
  }

  /** `npx olap-warden …`; exit code and output. */
  async function olapWarden(...args: string[]): Promise<{ code: number; out: string }> {
    const program = new Program('npx', ['--no-install', 'olap-warden', ...args], { cwd: folder, env: process.env });
    return { code: await program.exited, out: program.output };
  }

  it('has the program, the dashboard and the pages of the checks, and nothing else', async () => {
    const { stdout } = await run('tar', ['tzf', 'package.tgz'], { cwd: folder });
    const files = stdout.trim().split('\n');
    expect(files.filter((file) => !FOLDERS.test(file)).sort()).toEqual(FILES);
    expect(files.filter((file) => /\.tsx?$/.test(file))).toEqual([]);
    const installed = await readdir(join(folder, 'node_modules'));
    expect(installed.filter((name) => !name.startsWith('.'))).toEqual(['olap-warden']);
  });

  it('runs the health checks of a Pinot cluster', async () => {
    const { code, out } = await olapWarden('check', '--controller', pinot.controllerUrl, '--output', 'json');
    expect(out).toContain('"IDEAL_STATE_EV_MISMATCH_CHECK"');
    expect(code).toBeLessThanOrEqual(1); // 1: a check fails, which depends on the tables of other tests
  });

  it('runs a gateway with its dashboard and the pages of the checks', async () => {
    const [port, metricsPort] = (await freePorts(2)) as [number, number];
    const ports = [`--port=${port}`, `--metrics-port=${metricsPort}`];
    const places = ['--data-dir=data', `--controllers=${pinot.controllerUrl}`];
    const program = new Program('npx', ['--no-install', 'olap-warden', 'standalone', ...ports, ...places], {
      cwd: folder,
      env: process.env,
    });
    try {
      await expect.poll(() => status(`http://127.0.0.1:${metricsPort}/readyz`)).toBe(200);
      expect(await status(`http://127.0.0.1:${port}/ui/`)).toBe(200);
      expect(await status(`http://127.0.0.1:${port}/docs/checks/SEGMENT_COUNT_CHECK`)).toBe(200);
    } finally {
      program.signalGroup('SIGTERM');
      await program.exited;
    }
  });

  async function status(url: string): Promise<number> {
    try {
      return (await fetch(url, { signal: AbortSignal.timeout(WAIT_LIMIT_MS) })).status;
    } catch {
      return 0; // not listening yet
    }
  }
});

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { TEST_LIMIT_MS } from '../../support/limits.ts';
import { until, within } from '../../support/until.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
/** Above the version of the repository. */
const VERSION = '99.0.0';
const LIMIT = { timeout: 2 * TEST_LIMIT_MS };

/** A repository with the files of this one, as they are now. */
let repository: string;
let programs: string;
let start: string;

const git = (...args: string[]): string => execFileSync('git', args, { cwd: repository, encoding: 'utf8' }).trim();

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-release-'));
  repository = join(folder, 'repository');
  programs = join(folder, 'programs');
  mkdirSync(repository);
  mkdirSync(programs);
  const files = `git -c 'safe.directory=*' ls-files -z --cached --others --exclude-standard`;
  execFileSync('bash', ['-c', `${files} | tar --null -T - -c | tar -x -C "$1"`, 'bash', repository], { cwd: ROOT });
  symlinkSync(join(ROOT, 'node_modules'), join(repository, 'node_modules'));
  // Package and image have their own tests, and need the dashboard.
  const pack =
    "import { mkdirSync, writeFileSync } from 'node:fs';\nmkdirSync(process.argv[2] ?? '', { recursive: true });\nwriteFileSync(`${process.argv[2]}/sbom.cdx.json`, '{}');\n";
  writeFileSync(join(repository, 'tools/package/build.ts'), pack);
  const image = "import { writeFileSync } from 'node:fs';\nwriteFileSync(process.argv[2] ?? '', 'image');\n";
  writeFileSync(join(repository, 'tools/image/oci-archive.ts'), image);
  // The changelog of this repository may have none, behind a version that was cut.
  const changelog = join(repository, 'CHANGELOG.md');
  const unreleased = '## [Unreleased]\n';
  writeFileSync(changelog, readFileSync(changelog, 'utf8').replace(unreleased, `${unreleased}\n- A change.\n`));
  git('init', '--quiet', '--initial-branch', 'main');
  appendFileSync(join(repository, '.git/info/exclude'), 'node_modules\n');
  git('config', 'user.name', 'Release');
  git('config', 'user.email', 'release@example.com');
  git('add', '--all');
  git('commit', '--quiet', '--message', 'Start');
  start = git('rev-parse', 'HEAD');
}, TEST_LIMIT_MS);
afterAll(() => rm(resolve(repository, '..'), { recursive: true, force: true }));
beforeEach(() => {
  npmDoes('echo "{}"');
  git('reset', '--quiet', '--hard', start);
});

/** Replaces npm, except for `npm version`. @param script what it does: bash */
function npmDoes(script: string): void {
  const npm = execFileSync('bash', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim();
  const text = `#!/bin/bash\nif [ "$1" = version ]; then exec ${npm} "$@"; fi\n${script}\n`;
  writeFileSync(join(programs, 'npm'), text, { mode: 0o755 });
}

function begin(version: string, env: Record<string, string> = {}) {
  const child = spawn(process.execPath, ['tools/release/release.ts', version], {
    cwd: repository,
    env: { ...process.env, PATH: `${programs}:${process.env['PATH']}`, ARCHITECTURES: 'amd64', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
    // A process group of its own, as a terminal makes it.
    detached: true,
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, stderr }));
  return { child, ended };
}

const release = (version: string, env?: Record<string, string>) =>
  within(`the release of ${version}`, begin(version, env).ended, TEST_LIMIT_MS / 2);

function expectNothingChanged(): void {
  expect(git('status', '--porcelain')).toBe('');
  expect(git('rev-parse', 'HEAD')).toBe(start);
  expect(git('symbolic-ref', '--short', 'HEAD')).toBe('main');
  expect(git('tag', '--list')).toBe('');
  expect(existsSync(join(repository, 'build/release', VERSION))).toBe(false);
}

describe('make release', LIMIT, () => {
  it('reports all problems before it writes anything', async () => {
    writeFileSync(join(repository, 'README.md'), 'changed\n');
    const { code, stderr } = await release('0.0.1', { ARCHITECTURES: 'amd64,s390', SIGNING_KEY: '/no-such-key' });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: VERSION 0\.0\.1 is older than \d+\.\d+\.\d+, the version in package\.json$/m);
    expect(stderr).toContain('error: commit or remove your changes first');
    expect(stderr).toContain('error: invalid ARCHITECTURES `s390`: it must be amd64 or arm64');
    expect(stderr).toContain('error: cannot read SIGNING_KEY `/no-such-key`');
    expect(git('status', '--porcelain')).toBe('M README.md');
    expect(readFileSync(join(repository, 'README.md'), 'utf8')).toBe('changed\n');
  });

  it('refuses a version that has a tag', async () => {
    git('tag', `v${VERSION}`);
    const { code, stderr } = await release(VERSION);
    git('tag', '--delete', `v${VERSION}`);
    expect({ code, stderr }).toEqual({ code: 1, stderr: `error: the tag v${VERSION} exists already\n` });
    expectNothingChanged();
  });

  it('undoes its changes if a step fails', async () => {
    npmDoes('echo "no space left" >&2; exit 1');
    const { code, stderr } = await release(VERSION);
    expect(code).toBe(1);
    expect(stderr).toContain('no space left');
    expect(stderr).toContain('the release was not made; its changes are undone\nerror: ');
    expectNothingChanged();
  });

  it('undoes its changes, and no others, after Ctrl-C', async () => {
    const reached = join(programs, 'reached');
    npmDoes(`touch ${reached}; exec sleep 600`);
    const { child, ended } = begin(VERSION);
    await until('the package is being made', () => existsSync(reached));
    expect(git('status', '--porcelain')).toContain('package.json');
    writeFileSync(join(repository, 'README.md'), 'edited meanwhile\n');
    process.kill(-(child.pid ?? 0), 'SIGINT');
    const { code, stderr } = await ended;
    rmSync(reached);
    expect(code).toBe(1);
    expect(stderr).toContain('its changes are undone');
    expect(git('status', '--porcelain')).toBe('M README.md');
    git('restore', 'README.md');
    expectNothingChanged();
  });

  it('is not made of files that were edited meanwhile', async () => {
    npmDoes('echo edited > README.md; echo "{}"');
    const { code, stderr } = await release(VERSION);
    expect(code).toBe(1);
    expect(stderr).toContain('error: files changed while the release was made: README.md\n');
    expect(git('log', '--format=%s')).toBe('Start');
    expect(git('status', '--porcelain')).toBe('M README.md');
  });

  it('undoes its commit if the tag cannot be made', async () => {
    git('config', 'tag.gpgSign', 'true');
    git('config', 'gpg.program', 'false');
    const { code, stderr } = await release(VERSION);
    git('config', 'tag.gpgSign', 'false');
    expect(code).toBe(1);
    expect(stderr).toContain('its changes are undone');
    expectNothingChanged();
  });

  it('sets the version, commits, tags, and signs the checksums of all files', async () => {
    const key = join(programs, 'key');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'release', '-f', key]);
    const { code, stderr } = await release(VERSION, { SIGNING_KEY: key });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(git('status', '--porcelain')).toBe('');
    expect(git('log', '--format=%s')).toBe(`Release ${VERSION}\nStart`);
    expect(git('describe', '--exact-match')).toBe(`v${VERSION}`);
    const files = git('show', '--format=', '--name-only').split('\n');
    expect(files).toEqual(expect.arrayContaining(['CHANGELOG.md', 'package.json', 'manifests/install.yaml']));
    for (const file of ['package-lock.json', 'openapi.json', 'manifests/sidecar/gateway-sidecar.yaml'])
      expect(git('show', `HEAD:${file}`), file).toContain(VERSION);
    const folder = join(repository, 'build/release', VERSION);
    execFileSync('sha256sum', ['--check', '--strict', '--quiet', 'SHA256SUMS'], { cwd: folder });
    const allowed = join(programs, 'allowed');
    writeFileSync(allowed, `release@example.com ${readFileSync(`${key}.pub`, 'utf8')}`);
    const verify = ['-Y', 'verify', '-f', allowed, '-I', 'release@example.com', '-n', 'file', '-s', 'SHA256SUMS.sig'];
    execFileSync('ssh-keygen', verify, { cwd: folder, input: readFileSync(join(folder, 'SHA256SUMS')) });
  });
});

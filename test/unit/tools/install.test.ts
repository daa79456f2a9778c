// @module-tag slow
import { cpSync, existsSync, globSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PARTS } from '../../../tools/dev/part-list.ts';
import { ROOT } from '../../support/documents/pages.ts';
import { execute } from '../../support/execute.ts';

// Every part of tools/install.sh on a new machine: an empty cache in a path with a blank, a strict umask, no terminal, and a PATH with nothing else.

/** The program that each part is built with; Node is a package of npm with a checksum. */
const BUILT_WITH: Readonly<Record<string, string>> = {
  ...Object.fromEntries(['pinot', 'pinot-parsers'].map((part) => [part, 'mvn'])),
  ...Object.fromEntries(
    ['prometheus', 'alertmanager', 'nginx', 'tinyproxy', 'faketime'].map((part) => [part, 'apt-get']),
  ),
  ...Object.fromEntries(
    ['kubernetes', 'kubernetes 1.35', 'helm', 'kube-score', 's3', 'gcs', 'node-parts', 'coredns', 'kind', 'opa'].map(
      (part) => [part, 'go'],
    ),
  ),
  'pinot-tools': 'javac',
  sample: 'node',
};
const TOOLS = ['mvn', 'go', 'javac', 'java', 'apt-get', 'dpkg-deb', 'docker', 'runc', 'nft', 'conntrack', 'ip'];
const BASICS =
  'awk basename bash cat chmod cp cut date df dirname du env flock id ls mkdir mktemp mv nice printf ' +
  'realpath rm sed sh sha256sum sleep sort stat tar touch tr uname';

interface Result {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

let folder: string;

/** A machine with its own programs and home; @returns a call of the installer on it */
async function machine(name: string): Promise<(arguments_: string, env?: Record<string, string>) => Promise<Result>> {
  const home = join(folder, name, 'a home');
  await mkdir(home, { recursive: true });
  const base = { PATH: join(folder, 'bin'), HOME: home };
  return async (arguments_, env = {}) => {
    const command = `umask 077; exec '${join(folder, 'tools/install.sh')}' ${arguments_}`;
    const options = { env: { ...base, ...env }, cwd: folder };
    return execute('bash', ['-c', command], options).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      (error: Result) => error,
    );
  };
}

/** Node for the part `sample`, which Node runs itself. */
async function addNode(home: string): Promise<void> {
  const version = /^node_version=(.*)$/m.exec(await readFile(join(ROOT, 'tools/install.sh'), 'utf8'))?.[1];
  const bin = join(home, `.cache/olap-warden/node-${version}/bin`);
  await mkdir(bin, { recursive: true });
  await symlink(join(ROOT, 'test/support/build-tool.sh'), join(bin, 'node'));
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-install-'));
  for (const path of globSync('tools/**/{*.sh,go.mod,go.sum,pom.xml,*.java,*.ts,*.mjs,*.go,*.txt}', { cwd: ROOT })) {
    cpSync(join(ROOT, path), join(folder, path));
  }
  await mkdir(join(folder, 'bin'));
  for (const name of TOOLS) await symlink(join(ROOT, 'test/support/build-tool.sh'), join(folder, 'bin', name));
  const { stdout } = await execute('sh', ['-c', `for name in ${BASICS}; do command -v $name; done`]);
  for (const path of stdout
    .trim()
    .split('\n')
    .filter((path) => path.startsWith('/'))) {
    await symlink(path, join(folder, 'bin', path.slice(path.lastIndexOf('/') + 1)));
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('on a new machine, tools/install.sh', () => {
  it('is tested for every part', () => {
    const parts = Object.keys(BUILT_WITH).filter((part) => !part.includes(' '));
    // The browsers are packages that are installed, and no folders.
    expect([...parts, 'browser', 'firefox'].toSorted()).toEqual(Object.keys(PARTS).toSorted());
  });

  it.concurrent.for(Object.entries(BUILT_WITH))(
    'installs %s, says why where %s fails, and builds it then',
    async ([part, tool], { expect }) => {
      const install = await machine(part);
      await addNode(join(folder, part, 'a home'));
      const cache = join(folder, part, 'a home/.cache/olap-warden');
      const failed = await install(part, { FAILING: tool });
      expect(failed.stderr).toContain(`${tool}: no connection`);
      expect(failed).toMatchObject({ stdout: '' });
      expect(failed.code).not.toBe(0);

      const built = await install(part);
      expect(built.stderr).not.toMatch(/error:|No such|cannot|install\.sh: line/);
      expect(built).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\S.*\n$/) });
      expect(built.stdout.startsWith(cache)).toBe(true);
      expect(await readdir(built.stdout.trimEnd())).not.toEqual([]);
      expect(await install(part)).toEqual({ code: 0, stdout: built.stdout, stderr: '' });
    },
  );

  it.concurrent.for(['pinot', 'pinot-parsers'])(
    'shows the progress of a slow download of %s, whose folder does not exist yet',
    async (part, { expect }) => {
      const install = await machine(`slow ${part}`);
      const { code, stderr } = await install(part, { SLOW: '6' });
      expect(stderr).toMatch(/downloaded 0 of about \d+ MB \(0 %\)/);
      expect(stderr).toMatch(/ is ready after \d+ s\n$/);
      expect(code).toBe(0);
    },
  );

  it.concurrent('builds a part although its progress cannot be written', async ({ expect }) => {
    const install = await machine('full');
    expect(await install('pinot 2>/dev/full')).toMatchObject({ code: 0 });
  });

  it.concurrent('says that npm failed to fetch Node', async ({ expect }) => {
    const install = await machine('npm');
    const bin = join(folder, 'npm/bin');
    await mkdir(bin);
    await symlink(process.execPath, join(bin, 'node'));
    await symlink(join(ROOT, 'test/support/build-tool.sh'), join(bin, 'npm'));
    const { code, stderr } = await install('node', { PATH: `${bin}:${join(folder, 'bin')}`, FAILING: 'npm' });
    expect(code).not.toBe(0);
    expect(stderr).toContain('npm: no connection');
    expect(stderr).toMatch(/error: npm did not download `node-linux-\w+`/);
  });

  it.concurrent('says which folder to choose where it has none', async ({ expect }) => {
    const install = await machine('homeless');
    expect((await install('pinot', { HOME: '' })).stderr).toMatch(/error: no folder for parts: set HOME, or XDG_/);
    expect((await install('pinot', { XDG_CACHE_HOME: 'cache' })).stderr).toContain(
      'XDG_CACHE_HOME to an absolute path',
    );
    await writeFile(join(folder, 'file'), '');
    const { code, stderr } = await install('pinot', { XDG_CACHE_HOME: join(folder, 'file') });
    expect(stderr).toMatch(/error: `.*\/file\/olap-warden` cannot be created: set XDG_CACHE_HOME/);
    expect(code).toBe(1);
    expect(existsSync(join(folder, 'homeless/a home/.cache'))).toBe(false);
  });
});

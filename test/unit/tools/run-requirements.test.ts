// @module-tag slow
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { javaProblem, requireFolder, requireFree } from '../../../tools/dev/run-requirements.ts';
import { readSettings, UsageError } from '../../../tools/dev/run-settings.ts';
import { ROOT } from '../../support/documents/pages.ts';
import { freePorts } from '../../support/kubernetes/processes.ts';
import { once } from '../../support/once.ts';

describe('make run', () => {
  it.each([
    ['openjdk version "17.0.14" 2025-01-21\n', undefined],
    ['openjdk version "25" 2025-09-16\n', undefined],
    ['a Java that names no version\n', undefined],
    [undefined, '`java -version` fails'],
    ['java version "1.8.0_292"\n', '`java` is version 8'],
    ['openjdk version "11.0.2" 2019-01-15\n', '`java` is version 11'],
  ])('of `java -version` that says %j: %j', (output, problem) => {
    const found = javaProblem(output);
    if (problem === undefined) expect(found).toBeUndefined();
    else {
      expect(found).toContain(problem);
      expect(found).toContain('install a JDK 17 or newer');
      expect(found).toContain('make run OLAP_CONTROLLER=');
    }
  });

  it('refuses a data folder that is a file, or is in one, and says what to do', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'olap-warden-requirements-'));
    try {
      const file = join(folder, 'file');
      await writeFile(file, '');
      for (const path of [file, join(file, 'data')]) {
        const refused = requireFolder(path, false);
        await expect(refused).rejects.toThrow(UsageError);
        await expect(refused).rejects.toThrow(/DATA_DIR.*is a file; choose another folder.*make run DATA_DIR=/);
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it.each([
    [{ PORT: 'abc' }, 'invalid PORT `abc`: it must be a port from 1 to 65535'],
    [{ METRICS_PORT: '70000' }, 'invalid METRICS_PORT `70000`: it must be a port from 1 to 65535'],
    [{ PORT: '0' }, 'invalid PORT `0`'],
    [{ PORT: '9090' }, 'PORT and METRICS_PORT are both 9090: choose two ports'],
    [{ OLAP_CONTROLLER: 'pinot:9000' }, 'invalid OLAP_CONTROLLER `pinot:9000`: it must be a URL'],
  ])('refuses %j', (env, message) => {
    expect(() => readSettings(env, ROOT)).toThrow(UsageError);
    expect(() => readSettings(env, ROOT)).toThrow(message);
  });

  it('refuses a port in use and names another one', async () => {
    const server = createServer();
    await once(server.listen(0), 'listening');
    const { port } = server.address() as AddressInfo;
    try {
      const refused = requireFree('METRICS_PORT', port);
      await expect(refused).rejects.toThrow(UsageError);
      await expect(refused).rejects.toThrow(/is in use by another program; choose another.*make run METRICS_PORT=\d+`/);
    } finally {
      await once(server.close(), 'close');
    }
  });
});

describe('the first step of `make run`', () => {
  let folder: string;
  let ports: Readonly<Record<string, string>>;

  /** A clone without node_modules, a machine without any Pinot, and a PATH with some programs only. */
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'olap-warden-requirements-'));
    for (const path of globSync(['tools/*.sh', 'tools/pinot/*.{java,xml}', 'tools/dev/*.ts'], { cwd: ROOT })) {
      cpSync(join(ROOT, path), join(folder, path));
    }
    const [port, metricsPort] = await freePorts(2);
    ports = { PORT: `${port}`, METRICS_PORT: `${metricsPort}` };
    await mkdir(join(folder, 'bin'));
    for (const name of ['bash', 'cat', 'cut', 'dirname', 'sha256sum']) {
      const { stdout } = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' });
      await symlink(stdout.trim(), join(folder, 'bin', name));
    }
  });

  afterAll(() => rm(folder, { recursive: true, force: true }));

  function check(env: Readonly<Record<string, string>>): { status: number | null; stderr: string } {
    return spawnSync(process.execPath, [join(folder, 'tools/dev/requirements.ts')], {
      encoding: 'utf8',
      env: { PATH: join(folder, 'bin'), XDG_CACHE_HOME: folder, DATA_DIR: 'data', ...ports, ...env },
    });
  }

  async function addProgram(name: string, output: string): Promise<void> {
    const file = join(folder, 'bin', name);
    await writeFile(file, `#!/usr/bin/env bash\necho '${output}'\n`);
    await chmod(file, 0o755);
  }

  it('needs no npm packages, and says first what is missing', async () => {
    expect(check({ PORT: 'abc' })).toMatchObject({
      status: 1,
      stderr: 'error: invalid PORT `abc`: it must be a port from 1 to 65535\n',
    });
    expect(check({}).stderr).toMatch(/^error: the sample cluster needs Java, and `java -version` fails; install a JDK/);
    await addProgram('java', 'openjdk version "21.0.1"');
    expect(check({}).stderr).toMatch(
      /^error: .*built with `mvn`, and `mvn --version` fails; install Maven 3.8 or newer/,
    );
    await addProgram('mvn', 'Apache Maven 3.9.9');
    expect(check({}).stderr).toMatch(
      /^error: .*built with `javac`, .* install a JDK 17 or newer, or use your own Pinot/,
    );
    await addProgram('javac', 'javac 21.0.1');
    expect(check({})).toMatchObject({ status: 0, stderr: '' });
  });

  it('requires no Java with an own Pinot', () => {
    expect(check({ OLAP_CONTROLLER: 'http://localhost:9000', PATH: '/nowhere' })).toMatchObject({
      status: 0,
      stderr: '',
    });
  });

  it('comes before packages and dashboard', () => {
    expect(readFileSync(join(ROOT, 'Makefile'), 'utf8')).toMatch(/^run: requirements deps web /m);
  });
});

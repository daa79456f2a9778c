import { spawn, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { processesWith } from '../../support/processes.ts';
import { until } from '../../support/until.ts';
import { once } from '../../support/once.ts';

const STUB = resolve(import.meta.dirname, '../../support/build-tool.sh');
const JVM = join(resolve(import.meta.dirname, '../../..'), 'tools/pinot/jvm.ts');

it('a part that cannot be installed prints its message once', () => {
  const program = `const { installed } = await import(${JSON.stringify(JVM)});
    await installed('no-such-part').catch((error) => console.error('error: ' + error.message));`;
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' });
  expect(stderr.match(/unknown part/g)).toHaveLength(1);
  expect(stderr).toMatch(/error: the part `no-such-part` could not be installed: see the messages above/);
});

it('Ctrl-C during the first download ends the download', async () => {
  const home = await mkdtemp(join(tmpdir(), 'olap-warden-interrupted-'));
  const running = async () => (await processesWith(`HOME=${home}`)).map(({ line }) => line).join('\n');
  try {
    await mkdir(join(home, 'bin'));
    for (const name of ['java', 'mvn']) await symlink(STUB, join(home, 'bin', name));
    const program = `const { installed } = await import(${JSON.stringify(JVM)});
      const controller = new AbortController();
      process.once('SIGINT', () => controller.abort());
      await installed('pinot', controller.signal).catch(() => process.exit(3));`;
    const env = { PATH: `${home}/bin:${process.env['PATH']}`, HOME: home, SLOW: '300' };
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { env, stdio: 'ignore' });
    await until('Maven downloads', async () => (await running()).includes('sleep 300'));
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([3, null]);
    await until('nothing runs on', async () => (await running()) === '');
  } finally {
    for (const { pid } of await processesWith(`HOME=${home}`)) process.kill(pid, 'SIGKILL');
    await rm(home, { recursive: true, force: true });
  }
});

// @module-tag slow
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { VERSION } from '../../../src/app/parts/version.ts';
import { run } from '../../../src/commands/run.ts';
import { once } from '../../support/once.ts';
import { execute } from '../../support/execute.ts';

const ROOT = join(import.meta.dirname, '../../..');
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-run-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function call(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const printed = { out: '', err: '' };
  const code = await run(args, {
    env: {},
    stdout: (text) => void (printed.out += text),
    stderr: (text) => void (printed.err += text),
  });
  return { code, ...printed };
}

describe('the command line', () => {
  it('prints the help', async () => {
    const { code, out } = await call('--help');
    expect(code).toBe(0);
    for (const command of ['standalone', 'gateway', 'operator', 'check']) expect(out).toContain(`  ${command}`);
    expect((await call()).code).toBe(2);
    const help = await call('gateway', '--help');
    expect(help.out).toContain('--kubernetes-audiences');
    expect(help.out).toContain('OLAP_WARDEN_LOG_LEVEL');
  });

  it('prints the version', async () => {
    expect(await call('--version')).toEqual({ code: 0, out: `${VERSION}\n`, err: '' });
  });

  it.each([
    [['standalon'], 'unknown command `standalon`; did you mean `standalone`?\n'],
    [
      ['frobnicate'],
      'unknown command `frobnicate`; the commands are standalone, gateway, operator, check, audit, access\n',
    ],
    [['standalone', '--prt', '1'], 'unknown flag `--prt`; did you mean `--port`?\n'],
    [
      ['operator', '--port', 'x', '--log-level', 'loud'],
      'flag --port: `port`: `x` is not an integer\nflag --log-level: ',
    ],
  ])('reports the problem in %j', async (args, message) => {
    const { code, err } = await call(...args);
    expect(code).toBe(2);
    expect(err.startsWith(message), err).toBe(true);
  });

  it('reports a port in use and the setting that selects another', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const common = ['standalone', '--log-level=silent', `--data-dir=${folder}`];
    const first = await call(...common, '--port=0', `--metrics-port=${port}`);
    expect([first.code, first.err]).toEqual([
      1,
      `the address 127.0.0.1:${port} is in use by another program; \`--metrics-port\` selects another port\n`,
    ]);
    const second = await call(...common, '--metrics-port=0', `--port=${port}`);
    expect([second.code, second.err]).toEqual([
      1,
      `the address 127.0.0.1:${port} is in use by another program; \`--port\` selects another port\n`,
    ]);
    other.close();
  });
});

describe('the launcher', () => {
  it('runs the program', async () => {
    const { stdout } = await execute(process.execPath, ['bin/olap-warden.js', '--version'], { cwd: ROOT });
    expect(stdout).toBe(`${VERSION}\n`);
  });

  it('reports the required version on an older Node, before it loads TypeScript', async () => {
    const pretend = `Object.defineProperty(process, 'versions', {value: {node: '18.20.4'}});Object.defineProperty(process, 'version', {value: 'v18.20.4'})`;
    const failed = execute(
      process.execPath,
      ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`, 'bin/olap-warden.js', 'standalone'],
      { cwd: ROOT },
    );
    await expect(failed).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('olap-warden requires Node 24 or newer, but this is Node v18.20.4'),
    });
  });
});

import type { StdioOptions } from 'node:child_process';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { named, NOT_ROOT } from '../../support/documents/obstacle.ts';
import { execute } from '../../support/execute.ts';
import { ProbedGateway } from '../../support/probed-gateway.ts';
import { until } from '../../support/until.ts';

// A gateway whose standard output or standard error cannot be written listens, serves and ends as any other.

/** Log lines for more than the 64 KiB of a pipe. */
const REQUESTS = 400;

let folder: string;
const gateways: ProbedGateway[] = [];
const descriptors: number[] = [];
let number = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-output-'));
});
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.kill();
  for (const descriptor of descriptors.splice(0)) closeSync(descriptor);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function start(stdio: StdioOptions): Promise<ProbedGateway> {
  const gateway = await ProbedGateway.start({ folder: join(folder, `data-${++number}`), stdio });
  gateways.push(gateway);
  return gateway;
}

/** Each of these requests has a line in the log. */
async function request(gateway: ProbedGateway, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const answer = await gateway.send('GET', `/api/v1/rbac-manager/roles/number-${i}`, { token: '' });
    expect(answer.status).toBe(401);
  }
}

async function serves(gateway: ProbedGateway): Promise<void> {
  await request(gateway, REQUESTS);
  for (const path of ['livez', 'readyz', 'metrics']) expect(await gateway.probe(path), path).toBe(200);
}

/** A pipe without a process that reads it. */
async function pipe(): Promise<{ readonly writer: number; readonly reader: number }> {
  const path = join(folder, `pipe-${++number}`);
  await execute('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(path, constants.O_WRONLY);
  descriptors.push(reader, writer);
  return { reader, writer };
}

function file(path: string): number {
  const descriptor = openSync(path, 'a');
  descriptors.push(descriptor);
  return descriptor;
}

/** Everything that a pipe has now. */
function drained(reader: number): string {
  const [chunks, chunk] = [[] as Buffer[], Buffer.alloc(65_536)];
  for (;;) {
    try {
      const length = readSync(reader, chunk);
      if (length === 0) break;
      chunks.push(Buffer.from(chunk.subarray(0, length)));
    } catch {
      break;
    }
  }
  return Buffer.concat(chunks).toString();
}

/** The numbers of the requests that have an access record, in the order of the lines; each line must be whole. */
function requestsIn(log: string): number[] {
  const lines = log.split('\n').filter((line) => line !== '' && !line.startsWith('The token of'));
  return lines.flatMap((line) => {
    const found = /roles\/number-(\d+)/.exec(JSON.stringify(JSON.parse(line)))?.[1];
    return found === undefined ? [] : [Number(found)];
  });
}

describe('a gateway listens, serves and ends at SIGTERM with', () => {
  it('`/dev/full` as standard output and standard error from the start', async () => {
    const full = file('/dev/full');
    const gateway = await start(['ignore', full, full]);
    await serves(gateway);
    expect(await gateway.end()).toEqual([0, null]);
  });

  it.each(['standard output', 'both outputs'])('a reader of %s that stands still', async (which) => {
    const { writer } = await pipe();
    const gateway = await start(['ignore', writer, which === 'both outputs' ? writer : 'ignore']);
    await serves(gateway);
    expect(await gateway.end()).toEqual([0, null]);
  });

  it('standard output and standard error closed by their reader', async () => {
    const gateway = await start(['ignore', 'pipe', 'pipe']);
    gateway.child.stdout?.destroy();
    gateway.child.stderr?.destroy();
    await serves(gateway);
    expect(await gateway.end()).toEqual([0, null]);
  });
});

it('a reader that stood still gets all lines later, in their order', async () => {
  const { reader, writer } = await pipe();
  const gateway = await start(['ignore', writer, 'ignore']);
  await request(gateway, REQUESTS);
  let log = '';
  const expected = Array.from({ length: REQUESTS }, (_, i) => i);
  await until('all lines arrive', () => {
    log += drained(reader);
    return log.endsWith('\n') && requestsIn(log).length >= REQUESTS;
  });
  expect(requestsIn(log)).toEqual(expected);
  expect(await gateway.end()).toEqual([0, null]);
});

it('lines beyond 16 MiB are dropped, counted and reported', async () => {
  const { reader, writer } = await pipe();
  const gateway = await start(['ignore', writer, 'ignore']);
  // The path is in the line.
  const path = `/api/v1/rbac-manager/roles/${'x'.repeat(12_000)}`;
  const send = async (): Promise<void> => {
    for (let i = 0; i < 200; i++) await gateway.send('GET', path, { token: '' });
  };
  await Promise.all(Array.from({ length: 8 }, send));
  const dropped = await gateway.metric('olap_warden_log_dropped_total');
  expect(dropped).toBeGreaterThan(0);
  let log = '';
  await until('the lines arrive', () => {
    log += drained(reader);
    return log.includes('log lines were dropped because they could not be written');
  });
  expect(log).toContain(`"dropped":${dropped}`);
  expect(await gateway.end()).toEqual([0, null]);
});

it('the last lines before the end are in a file and in a pipe', async () => {
  const path = join(folder, 'log');
  const { reader, writer } = await pipe();
  for (const output of [file(path), writer]) {
    const gateway = await start(['ignore', output, 'ignore']);
    await request(gateway, 50);
    expect(await gateway.end()).toEqual([0, null]);
  }
  for (const log of [await readFile(path, 'utf8'), drained(reader)])
    expect(requestsIn(log)).toEqual(Array.from({ length: 50 }, (_, i) => i));
});

it.skipIf(NOT_ROOT)(
  named('with standard output on a full disk it serves, and writes the lines when there is room again', NOT_ROOT),
  async () => {
    const disk = join(folder, 'disk');
    await mkdir(disk);
    await execute('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk]);
    try {
      const path = join(disk, 'log');
      const gateway = await start(['ignore', file(path), 'ignore']);
      const ballast = join(disk, 'ballast');
      await writeFile(ballast, Buffer.alloc(2 * 1024 * 1024)).catch(() => undefined);
      await serves(gateway);
      await rm(ballast);
      const expected = Array.from({ length: REQUESTS }, (_, i) => i);
      await until('the lines are written', async () => {
        const log = await readFile(path, 'utf8');
        return log.endsWith('\n') && requestsIn(log).length >= REQUESTS;
      });
      expect(requestsIn(await readFile(path, 'utf8'))).toEqual(expected);
      await writeFile(ballast, Buffer.alloc(2 * 1024 * 1024)).catch(() => undefined);
      await request(gateway, 50);
      expect(await gateway.end()).toEqual([0, null]);
    } finally {
      for (const gateway of gateways.splice(0)) await gateway.kill();
      await execute('umount', ['-l', disk]);
    }
  },
);

it('SIGUSR1 opens no debugger', async () => {
  const path = join(folder, 'errors');
  const gateway = await start(['ignore', 'ignore', file(path)]);
  gateway.child.kill('SIGUSR1');
  await request(gateway, 20);
  expect(await readFile(path, 'utf8')).toBe('');
  expect(await gateway.end()).toEqual([0, null]);
});

it('SIGHUP ends it as SIGTERM does', async () => {
  const gateway = await start(['ignore', 'ignore', 'ignore']);
  gateway.child.kill('SIGHUP');
  expect(await gateway.exited).toEqual([0, null]);
});

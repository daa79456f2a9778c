import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Program } from '../support/processes.ts';
import { once } from '../support/once.ts';

const ROOT = join(import.meta.dirname, '../..');
let dataDir: string;
let engine: Server;
let asked: number;
let program: Program;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'olap-warden-end-'));
  asked = 0;
  engine = createServer((request, response) => {
    // Queries never end; all other paths are 404.
    if (request.method === 'POST') asked += 1;
    else if (request.url === '/tables/livebrokers') response.end('{"t_OFFLINE":[]}');
    else response.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  await once(engine, 'listening');
  const engineUrl = `http://127.0.0.1:${(engine.address() as AddressInfo).port}`;
  const flags = { port: 0, 'metrics-port': 0, 'data-dir': dataDir, controllers: engineUrl, brokers: engineUrl };
  const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  program = new Program(process.execPath, ['bin/olap-warden.js', 'standalone', ...args], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'] },
  });
  await program.printed('"msg":"started"', 60_000);
});
afterEach(async () => {
  program.signalGroup('SIGKILL');
  engine.closeAllConnections();
  engine.close();
  await rm(dataDir, { recursive: true, force: true });
});

async function ready(): Promise<number> {
  const port = /"metricsPort":(\d+)/.exec(program.output)?.[1] ?? '';
  return (await fetch(`http://127.0.0.1:${port}/readyz`)).status;
}

async function startSlowQuery(): Promise<void> {
  const port = /"port":(\d+)/.exec(program.output)?.[1] ?? '';
  const token = (await readFile(join(dataDir, 'admin-token'), 'utf8')).trim();
  fetch(`http://127.0.0.1:${port}/query/sql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{"sql":"SELECT 1 FROM t"}',
  }).catch(() => undefined); // It is cut: that is what the test is about.
  await expect.poll(() => asked).toBe(1);
}

it('exits at once with 0 when no request is in progress', async () => {
  program.signalGroup('SIGTERM');
  expect(await program.exited).toBe(0);
});

it('waits for requests in progress, and exits at a second signal', async () => {
  await startSlowQuery();
  process.kill(program.pid, 'SIGTERM');
  await expect.poll(ready).toBe(503);
  // Longer than the end takes when no request is in progress.
  const waited = new Promise((resolve) => void setTimeout(resolve, 1500, 'in progress'));
  expect(await Promise.race([program.exited, waited])).toBe('in progress');
  process.kill(program.pid, 'SIGTERM');
  expect(await program.exited).toBe(143);
});

it('prints no credential', async () => {
  await startSlowQuery();
  const token = (await readFile(join(dataDir, 'admin-token'), 'utf8')).trim();
  expect(program.output).toContain(join(dataDir, 'admin-token'));
  expect(program.output).not.toContain(token);
});

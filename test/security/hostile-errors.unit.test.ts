// @module-tag slow
import { once } from '../support/once.ts';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Counter, Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import type { RegisterRoutes } from '../../src/api/app.ts';
import { trustOf } from '../../src/api/server/request/client-address.ts';
import { Exchange, type ExchangeDependencies } from '../../src/api/queries/data-plane/exchange.ts';
import { run } from '../../src/commands/run.ts';
import { createLogger } from '../../src/platform/logging.ts';
import { Closers } from '../../src/platform/lifecycle.ts';
import { runPeriodically } from '../../src/platform/periodic.ts';
import { createProbesServer } from '../../src/platform/probes.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { Controller } from '../../src/operator/controller/controller-loop.ts';
import { problemOf } from '../../src/results/stores/object/unusable-bucket.ts';
import { errorCode, errorMessage } from '../../src/platform/plain-error.ts';
import { role } from '../builders/resources.ts';
import { testApp } from '../support/app.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { HOSTILE_ERRORS } from '../support/hostile-errors.ts';
import { FakeRecorder, FakeStore, metrics } from '../unit/operator/fakes.ts';

// What is thrown where an error is logged or rendered: it is reported, and the work goes on. An exception there would be an uncaught one.

interface Line {
  readonly msg?: string;
  readonly err?: { readonly type: string; readonly message: string };
}

function logged(): { log: ReturnType<typeof createLogger>; lines: Line[] } {
  const lines: Line[] = [];
  return { log: createLogger('info', { write: (text) => void lines.push(JSON.parse(text) as Line) }), lines };
}
const reported = (msg: string): unknown =>
  expect.objectContaining({ msg, err: expect.objectContaining({ type: expect.any(String) }) });

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});
async function listening(server: Server): Promise<string> {
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe.each(Object.entries(HOSTILE_ERRORS))('%s', (_name, make) => {
  const fails = (): never => {
    throw make();
  };

  it('thrown by a route is a 500 with an Error body, and is logged', async () => {
    const { log, lines } = logged();
    const register: RegisterRoutes = async (scope) => void scope.get('/fails', () => Promise.try(fails));
    const app = await testApp({ register, parts: { logger: log } });
    const answer = await app.inject({ method: 'GET', url: '/fails' });
    await app.close();
    expect([413, 500]).toContain(answer.statusCode);
    if (answer.statusCode === 500) expect(lines).toContainEqual(reported('the request failed'));
  });

  it('thrown for a query is an Error body, and is logged', async () => {
    const { log, lines } = logged();
    const parts = { logger: log, headers: {}, headerList: [], record: () => undefined, trust: trustOf(false) };
    const url = await listening(
      createServer((request, response) => {
        const exchange = new Exchange(request, response, 'none', {
          ...parts,
          clock: systemClock,
        } as unknown as ExchangeDependencies);
        exchange.fail(make());
      }),
    );
    const answer = await fetch(url);
    expect(answer.status).toBe(500);
    expect(await answer.text()).toContain('internal error');
    expect(lines).toContainEqual(reported('the request failed'));
  });

  it('thrown by a reconciler is logged, and the object is reconciled again', async () => {
    const { log, lines } = logged();
    const clock = new FakeClock();
    let reconciled = 0;
    const controller = new Controller(
      {
        kind: 'Role',
        watches: [],
        observe: (store, name) => ({ object: store.get('Role', name) }),
        reconcile: () => {
          reconciled++;
          return fails();
        },
      },
      {
        store: new FakeStore(role('analysts')),
        recorder: new FakeRecorder(),
        clock,
        metrics: metrics(new Registry()),
        log,
      },
    );
    controller.start();
    await clock.advance(5_000);
    await controller.stop();
    expect(reconciled).toBeGreaterThan(1);
    expect(lines).toContainEqual(reported('reconciler failed unexpectedly; retrying'));
  });

  it('thrown by a shutdown step is logged, and the other steps run', async () => {
    const { log, lines } = logged();
    const closers = new Closers(log);
    let closed = false;
    closers.defer('other', () => (closed = true));
    closers.defer('failing', fails);
    await closers.closeAll();
    expect(closed).toBe(true);
    expect(lines).toContainEqual(reported('shutdown step failed'));
  });

  it('thrown by periodic work does not end it, also where its handler throws', async () => {
    const clock = new FakeClock();
    let calls = 0;
    const handled: unknown[] = [];
    const stop = runPeriodically(
      async () => {
        calls++;
        fails();
      },
      { clock, intervalMs: 1000, onError: (error) => void handled.push(errorMessage(error), errorCode(error)) },
    );
    await clock.advance(3_000);
    await stop();
    expect(calls).toBe(3);
    expect(handled).toHaveLength(6);
  });

  it('thrown while metrics are collected or a probe is checked is a 500', async () => {
    const registry = new Registry();
    registry.registerMetric(new Counter({ name: 'failing', help: 'fails', registers: [], collect: fails }));
    const url = await listening(createProbesServer({ registry, checks: new Map([['failing', fails]]) }));
    for (const path of ['/metrics', '/readyz']) expect((await fetch(url + path)).status).toBe(500);
    expect((await fetch(`${url}/livez`)).status).toBe(200);
  });

  it('is the reason of a store that cannot be used', () => {
    expect(problemOf({ right: 'list', doing: 'listing' }, make())).toMatch(/\S/);
  });

  it('thrown by a command is printed to stderr, with an exit code above 0', async () => {
    let printed = '';
    const env = new Proxy({}, { get: fails, has: fails, ownKeys: fails, getOwnPropertyDescriptor: fails });
    const context = { env, stdout: () => undefined, stderr: (text: string) => void (printed += text) };
    for (const args of [['standalone'], ['check', '--controllers=http://127.0.0.1:9']]) {
      printed = '';
      expect(await run(args, context)).toBeGreaterThan(0);
      expect(printed).not.toBe('');
    }
    await nextTurn();
  });
});

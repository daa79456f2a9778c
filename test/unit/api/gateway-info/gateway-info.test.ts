import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createEngine } from '../../../../src/pinot/connection.ts';
import { gatewayInfo } from '../../../../src/api/gateway-info/index.ts';
import type { ResourceStore } from '../../../../src/store/resource-store.ts';
import { denyAll, testApp } from '../../../support/app.ts';
import { once } from '../../../support/once.ts';

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

async function gateway(controller: RequestListener, parts: { denied?: boolean } = {}) {
  const server = createServer(controller).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const engine = createEngine({ controllerUrls: [url] });
  const store = {
    health: () => ({ synced: true, ageMs: 12, lastError: undefined }),
  } as Partial<ResourceStore> as ResourceStore;
  const app = await testApp({
    ...(parts.denied === true ? { authorizer: denyAll } : {}),
    register: (scope) =>
      gatewayInfo(scope, {
        version: '1.2.3',
        brokerId: 'gateway-0',
        startedAt: new Date('2026-01-01T00:00:00Z'),
        store,
        storeKind: 'folder',
        engine,
        instances: () => [{ brokerId: 'gateway-0', host: 'gateway-0', port: 8080, self: true }],
        paginationProtocol: () => 'memory',
      }),
  });
  open.push(
    () => new Promise((resolve) => server.close(resolve)),
    () => engine.close(),
    () => app.close(),
  );
  return { app, url };
}

describe('the state of the gateway', () => {
  it('has its version, the age of its view and whether the engine is reachable', async () => {
    const { app, url } = await gateway((_request, response) => response.end('OK'));
    const answer = await app.inject('/api/v1/gateway');
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual({
      version: '1.2.3',
      brokerId: 'gateway-0',
      startedAt: '2026-01-01T00:00:00.000Z',
      store: { kind: 'folder', synced: true, ageMs: 12, lastError: null },
      engine: { url, reachable: true, message: null },
      instances: [{ brokerId: 'gateway-0', host: 'gateway-0', port: 8080, self: true }],
      pagination: { protocol: 'memory' },
    });
  });

  it('does not wait for the end of the engine’s response, and reports its status', async () => {
    const { app } = await gateway((_request, response) => {
      response.writeHead(503);
      // Never ended, so the probe has to abort it.
      response.write('x'.repeat(100_000));
    });
    const answer = await app.inject('/api/v1/gateway');
    expect(answer.json()).toMatchObject({
      engine: { reachable: false, message: expect.stringContaining('503') as string },
    });
    // An unhandled error event would end the process within the next event loop turns.
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await app.inject('/api/v1/gateway')).statusCode).toBe(200);
  });

  it('requires GetHealth on the cluster', async () => {
    const { app } = await gateway((_request, response) => response.end('OK'), { denied: true });
    expect((await app.inject('/api/v1/gateway')).statusCode).toBe(403);
  });
});

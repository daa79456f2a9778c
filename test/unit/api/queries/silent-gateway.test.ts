// @module-tag slow
import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { PeerClient } from '../../../../src/api/queries/peer-client.ts';
import { readTarget } from '../../../../src/api/server/request/target.ts';
import type { RequestContext } from '../../../../src/api/server/context.ts';
import type { EngineResponse } from '../../../../src/pinot/types.ts';
import { TEST_HEADERS } from '../../../support/app.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { WAIT_LIMIT_MS } from '../../../support/limits.ts';
import { once } from '../../../support/once.ts';
import { memoryProperties } from '../../../support/result-stores.ts';
import { within } from '../../../support/until.ts';
import { answerText, responseOf, rowTexts, StubEndpoint } from '../../results/answers.ts';
import { engineOf, startGateways, stopGateways } from './gateways.ts';

const PATIENT = { timeout: WAIT_LIMIT_MS, interval: 5 };

/** A gateway that accepts connections, and responds to nothing while it is silent. */
class SilentGateway {
  isSilent = true;
  /** Paths that were requested. */
  readonly asked: string[] = [];
  readonly server: Server;
  readonly #sockets = new Set<Socket>();

  constructor() {
    this.server = createServer((socket) => {
      this.#sockets.add(socket);
      socket
        .on('error', () => undefined)
        .on('data', (bytes) => {
          const path = /^GET (\S+)/.exec(bytes.toString('latin1'))?.[1];
          if (path === undefined) return;
          this.asked.push(path);
          const body = '{"brokerId":"gateway-0"}';
          if (!this.isSilent) socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
        });
    });
  }

  /** @returns the port */
  async listen(port = 0): Promise<number> {
    await once(this.server.listen(port, '127.0.0.1'), 'listening');
    return (this.server.address() as { port: number }).port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await once(this.server.close(), 'close');
  }
}

describe('a page of a gateway that accepts connections and responds to nothing', () => {
  const PAGE = '/query/1/results?offset=0';
  const PROBE = '/query/gateway';
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  async function setUp() {
    const clock = new FakeClock();
    const gateway = new SilentGateway();
    const peer = { host: '127.0.0.1', port: await gateway.listen() };
    const client = new PeerClient({ clock });
    closers.push(
      () => gateway.close(),
      () => client.close(),
    );
    const request = {
      id: 'r1',
      method: 'GET',
      headers: {},
      principal: { srn: 'srn2:user#a' },
    } as unknown as RequestContext;
    const target = readTarget(PAGE);
    const forward = (): Promise<EngineResponse> => client.forward(request, target, peer, new AbortController().signal);
    const asked = (path: string): number => gateway.asked.filter((one) => one === path).length;
    return { clock, gateway, client, peer, forward, asked };
  }
  const unavailable = {
    statusCode: 503,
    message: expect.stringContaining('does not respond'),
    headers: { 'retry-after': expect.stringMatching(/^\d+$/) },
  };

  it('is refused after one probe, further ones at once, and served when it responds again', async () => {
    const { clock, gateway, client, peer, forward, asked } = await setUp();
    const refused = expect(forward()).rejects.toMatchObject(unavailable);
    await expect.poll(() => asked(PAGE), PATIENT).toBe(1);
    expect(client.isSuspected(peer)).toBe(false);
    await clock.advance(500);
    await expect.poll(() => asked(PROBE), PATIENT).toBe(1);
    await clock.advance(2_000);
    await refused;
    expect(client.isSuspected(peer)).toBe(true);
    await expect(forward()).rejects.toMatchObject(unavailable);
    expect([asked(PAGE), asked(PROBE)]).toEqual([1, 1]);
    gateway.isSilent = false;
    await clock.advance(1_000);
    expect((await forward()).status).toBe(200);
    expect(client.isSuspected(peer)).toBe(false);
  });

  it('is waited for while the gateway responds to probes', async () => {
    const { clock, gateway, forward, asked } = await setUp();
    const page = forward();
    await expect.poll(() => asked(PAGE), PATIENT).toBe(1);
    gateway.isSilent = false;
    for (let second = 0; second < 30; second++) {
      await clock.advance(1_000);
      await settle();
    }
    expect(asked(PROBE)).toBeGreaterThan(1);
    const over = expect(page).rejects.toMatchObject(unavailable);
    await clock.advance(60_000);
    await over;
  });

  it('does not wait behind the pages of another caller', async () => {
    const { client, peer, asked } = await setUp();
    const target = readTarget(PAGE);
    const leaving = new AbortController();
    const forward = (caller: string): void => {
      const request = { id: 'r', method: 'GET', headers: {}, principal: { srn: caller } } as unknown as RequestContext;
      client.forward(request, target, peer, leaving.signal).catch(() => undefined);
    };
    for (let i = 0; i < 60; i++) forward('srn2:user#noisy');
    await expect.poll(() => asked(PAGE), PATIENT).toBe(16);
    forward('srn2:user#other');
    await expect.poll(() => asked(PAGE), PATIENT).toBe(17);
    leaving.abort();
  });
});

it('the queries of a caller are listed without those of a silent gateway, which is not asked while it is silent', async () => {
  const endpoint = new StubEndpoint();
  endpoint.answer = () => responseOf(answerText(rowTexts(10)));
  const gateways = await startGateways(2, { engine: engineOf(endpoint), store: memoryProperties });
  const [holder, other] = gateways;
  const silent = new SilentGateway();
  const call = async (path: string, init: RequestInit = {}) => {
    const headers = { ...TEST_HEADERS, 'content-type': 'application/json' };
    // Well below the time-out of a request between gateways.
    const response = await within(path, fetch(`${other!.url}${path}`, { headers, ...init }), 30_000);
    return { status: response.status, headers: response.headers, body: (await response.json()) as never };
  };
  try {
    const sql = JSON.stringify({ sql: 'SELECT * FROM orders' });
    await call('/query/sql?doPaginate=true', { method: 'POST', body: sql });
    expect(await call('/query/mine')).toMatchObject({ status: 200, body: { queries: [{ state: 'done' }] } });
    await holder!.app.close();
    await silent.listen(holder!.port);
    const listing = { status: 200, body: { queries: [{ state: 'done' }], incomplete: true } };
    expect(await call('/query/mine')).toMatchObject(listing);
    const asked = silent.asked.filter((path) => path === '/query/mine').length;
    expect(asked).toBe(1);
    for (let i = 0; i < 5; i++) expect(await call('/query/mine')).toMatchObject(listing);
    expect(silent.asked.filter((path) => path === '/query/mine')).toHaveLength(asked);
  } finally {
    await silent.close();
    await stopGateways(gateways.slice(1));
    await holder!.service.close();
  }
});

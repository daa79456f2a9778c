import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ClientLoad, type ClientLoadOptions } from '../../support/client-load.ts';
import { Pki } from '../../support/kubernetes/pki.ts';
import { once } from '../../support/once.ts';
import { ProbedGateway } from '../../support/probed-gateway.ts';
import { until } from '../../support/until.ts';

// A gateway that gets SIGTERM under load, without the pause of the chart: its clients are served or refused, never reset. A refused client, or its
// load balancer, can send the request to another gateway; after a reset it cannot know whether the request had an effect.

/** Before SIGTERM. */
const REQUESTS = 500;
const SERVER = 'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth';

let folder: string;
let pki: Pki;
let ca: string;
let gateway: ProbedGateway | undefined;
let number = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-shutdown-'));
  pki = new Pki(folder);
  await pki.createAuthority();
  await pki.issue('gateway', [['CN', 'gateway']], SERVER);
  ca = await readFile(pki.path('ca.crt'), 'utf8');
});
afterEach(() => gateway?.kill());
afterAll(() => rm(folder, { recursive: true, force: true }));

async function start(scheme: 'http' | 'https', flags: Record<string, string> = {}): Promise<ProbedGateway> {
  const tls = { 'tls-cert-file': pki.path('gateway.crt'), 'tls-key-file': pki.path('gateway.key') };
  const all = { ...flags, ...(scheme === 'https' && tls) };
  gateway = await ProbedGateway.start({ folder: join(folder, `data-${++number}`), flags: all });
  return gateway;
}

/** @returns the errors of requests that were neither served nor refused */
async function endUnder(
  load: Pick<ClientLoadOptions, 'clients' | 'keepAlive' | 'everyMs'>,
  scheme: 'http' | 'https',
): Promise<readonly string[]> {
  const ending = await start(scheme);
  const clients = new ClientLoad({ url: `${scheme}://127.0.0.1:${ending.port}/api/v1/nothing`, ca, ...load });
  await until('the clients are served', () => clients.served >= REQUESTS);
  expect(await ending.end()).toEqual([0, null]);
  await clients.ended;
  expect(clients.outcomes.get('ECONNREFUSED')).toBeGreaterThan(0);
  return clients.failed;
}

describe.each(['http', 'https'] as const)('over %s, SIGTERM under load resets no connection of', (scheme) => {
  const each = it.each([1, 2]);

  each('64 clients that keep their connection, round %i', async () => {
    expect(await endUnder({ clients: 64, keepAlive: true }, scheme)).toEqual([]);
  });

  each('64 clients that open a connection for each request, round %i', async () => {
    expect(await endUnder({ clients: 64, keepAlive: false }, scheme)).toEqual([]);
  });
});

it('ends long before `shutdown-grace` with connections that are idle or never had a request', async () => {
  const ending = await start('http', { 'shutdown-grace': '10m' });
  const sockets = Array.from({ length: 6 }, () => connect(ending.port, '127.0.0.1').resume());
  for (const socket of sockets.slice(3)) {
    socket.write('GET /api/v1/nothing HTTP/1.1\r\nHost: gateway\r\n\r\n');
    await once(socket, 'data');
  }
  const ended = sockets.map((socket) => once(socket, 'end'));
  expect(await ending.end()).toEqual([0, null]);
  await Promise.all(ended);
});

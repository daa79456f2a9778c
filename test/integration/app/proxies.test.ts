import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ApiConnections } from '../../../src/kubernetes/connections.ts';
import { NO_CREDENTIAL } from '../../../src/pinot/credential.ts';
import { DEFAULT_ENDPOINT_LIMITS, PooledEndpoint } from '../../../src/pinot/endpoint.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import { GatewayProcess, type GatewayProcessOptions } from '../../support/gateway-process.ts';
import { startGcs } from '../../support/gcs.ts';
import { Pki } from '../../support/kubernetes/pki.ts';
import { OidcIssuer, signingKey } from '../../support/oidc-issuer.ts';
import { once } from '../../support/once.ts';
import { startS3 } from '../../support/s3.ts';
import { startTinyproxy, type Tinyproxy } from '../../support/tinyproxy.ts';
import { until } from '../../support/until.ts';

// A gateway that reaches nothing but through a proxy, in front of servers whose certificates are from a private CA.

const ANSWER = {
  resultTable: { dataSchema: { columnNames: ['id'], columnDataTypes: ['LONG'] }, rows: [[1], [2], [3]] },
  exceptions: [],
  tablesQueried: ['orders'],
};
const USER = 'gateway';
const PASSWORD = 'of-the-proxy';

let folder: string;
let ca: string;
let key: string;
let cert: string;
let proxy: Tinyproxy;
let engine: FakeEngine;
const servers: (Server | HttpServer)[] = [];
let gateways: GatewayProcess[] = [];

/** A server with a certificate of the private CA in front of a port. */
async function tlsInFrontOf(port: number): Promise<string> {
  const server = createServer({ key, cert }, (socket) => {
    const target = connect(port, '127.0.0.1');
    target.on('error', () => socket.destroy());
    socket.on('error', () => target.destroy());
    socket.pipe(target).pipe(socket);
  });
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-proxies-'));
  const pki = new Pki(folder);
  await pki.createAuthority();
  await pki.issue('server', [['CN', 'server']], 'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth');
  ca = pki.path('ca.crt');
  [key, cert] = await Promise.all([readFile(pki.path('server.key'), 'utf8'), readFile(pki.path('server.crt'), 'utf8')]);
  proxy = await startTinyproxy(`${USER} ${PASSWORD}`);
  engine = new FakeEngine();
  await engine.listen();
  engine.serve(['orders_OFFLINE'], JSON.stringify(ANSWER));
});
afterEach(async () => {
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  gateways = [];
});
afterAll(async () => {
  for (const server of servers) server.close();
  await engine.close();
  await proxy.stop();
  await rm(folder, { recursive: true, force: true });
});

const proxyUrl = (): string => proxy.url.replace('http://', `http://${USER}:${PASSWORD}@`);

async function start(options: GatewayProcessOptions, noProxy = ''): Promise<GatewayProcess> {
  const env = { HTTP_PROXY: proxyUrl(), HTTPS_PROXY: proxyUrl(), NO_PROXY: noProxy, NODE_EXTRA_CA_CERTS: ca };
  const gateway = await GatewayProcess.start({ ...options, env });
  gateways.push(gateway);
  return gateway;
}

/** Settings of a gateway with an engine behind a certificate of the private CA. */
async function securedEngine(): Promise<{ address: string; controllers: string; flags: Record<string, string> }> {
  const address = await tlsInFrontOf(engine.port);
  return { address, controllers: `https://${address}`, flags: { brokers: `https://${address}` } };
}

async function paginate(gateway: GatewayProcess): Promise<void> {
  const answer = await gateway.call('POST', '/query/sql?doPaginate=true', { sql: 'SELECT id FROM orders LIMIT 3' });
  expect(answer.status, await answer.clone().text()).toBe(200);
  const { requestId } = (await answer.json()) as { requestId: string };
  const page = await gateway.call('GET', `/query/${requestId}/results?offset=0&numRows=3`);
  expect(page.status, await page.clone().text()).toBe(200);
}

describe('the proxies of the environment', () => {
  it('are used for the engine, by https and http, and for the identity provider', async () => {
    const issuer = await OidcIssuer.start([await signingKey('first')]);
    const { address, ...secured } = await securedEngine();
    const flags = { ...secured.flags, 'oidc-issuer': issuer.url, 'oidc-audiences': 'olap-warden' };
    const gateway = await start({ ...secured, flags });
    expect((await gateway.call('POST', '/query/sql', { sql: 'SELECT id FROM orders LIMIT 3' })).status).toBe(200);
    const plain = await start({ controllers: engine.url });
    expect((await plain.call('POST', '/query/sql', { sql: 'SELECT id FROM orders LIMIT 3' })).status).toBe(200);
    const token = await issuer.token({ user: { email: 'ann@example.com', verified: true } });
    const known = await fetch(`${gateway.url}/api/v1/rbac-manager/whoami`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(known.status, await known.text()).toBe(200);
    const seen = await proxy.requests();
    expect(seen).toContain(`CONNECT ${address}`);
    expect(seen).toContain(`CONNECT 127.0.0.1:${engine.port}`);
    expect(seen).toContain(`GET ${issuer.url}/.well-known/openid-configuration`);
    await issuer.stop();
  });

  it('are used for results in a bucket of S3 and of GCS, and for the webhook of health alerts', async () => {
    const [s3, gcs] = await Promise.all([startS3(), startGcs()]);
    const received: string[] = [];
    const receiver = createHttpServer((request, response) => {
      received.push(request.url ?? '');
      request.resume().on('end', () => response.end());
    });
    servers.push(receiver.listen(0, '127.0.0.1'));
    await once(receiver, 'listening');
    const hook = `https://${await tlsInFrontOf((receiver.address() as AddressInfo).port)}`;
    const { endpoint: s3Url, ...bucket } = await s3.bucket('results');
    const secured = await tlsInFrontOf(Number(new URL(s3Url).port));
    const pagination = (properties: Record<string, unknown>): string[] =>
      Object.entries(properties).map(([name, value]) => `olap.broker.pagination.${name}=${String(value)}`);
    const inS3 = await start({
      controllers: engine.url,
      flags: { 'health-webhook-url': `${hook}/hook` },
      properties: pagination({
        ...{ protocol: 's3', 's3.bucket': bucket.bucket, 's3.endpoint': `https://${secured}`, 's3.path.style': true },
        ...{ 's3.region': bucket.region, 's3.access.key': bucket.accessKeyId, 's3.secret.key': bucket.secretAccessKey },
      }),
    });
    await paginate(inS3);
    const { bucket: name, endpoint: gcsUrl } = await gcs.bucket('results');
    const properties = pagination({ protocol: 'gcs', 'gcs.bucket': name, 'gcs.endpoint': gcsUrl });
    await paginate(await start({ controllers: engine.url, properties }));
    await until('the webhook is called', async () => received.includes('/hook'));
    const seen = await proxy.requests();
    expect(seen).toContain(`CONNECT ${secured}`);
    expect(seen).toContain(`CONNECT ${new URL(hook).host}`);
    expect(seen.filter((request) => request.includes(gcsUrl))).not.toEqual([]);
    await Promise.all([s3.stop(), gcs.stop()]);
  });

  it('are not used for what NO_PROXY names, nor with a wrong credential', async () => {
    const { address, ...secured } = await securedEngine();
    const gateway = await start(secured, '127.0.0.0/8');
    expect((await gateway.call('POST', '/query/sql', { sql: 'SELECT id FROM orders LIMIT 3' })).status).toBe(200);
    expect(await proxy.requests()).not.toContain(`CONNECT ${address}`);

    const env = { HTTP_PROXY: proxy.url };
    const refused = await GatewayProcess.start({ controllers: engine.url, flags: { brokers: engine.url }, env });
    gateways.push(refused);
    const answer = await refused.call('POST', '/query/sql', { sql: 'SELECT id FROM orders LIMIT 3' });
    expect(answer.status).toBeGreaterThanOrEqual(502);
    const { message } = (await answer.json()) as { message: string };
    expect(message).toContain('the proxy of the environment refuses the connection');
  });

  it('stop the program where they are no URL of a proxy', async () => {
    const env = { HTTPS_PROXY: 'user:secret@proxy' };
    const failed = GatewayProcess.start({ controllers: engine.url, env });
    await expect(failed).rejects.toThrow('the environment variable `HTTPS_PROXY` must be the URL of a proxy');
  });
});

describe('with a proxy that does not respond', () => {
  const nowhere = 'http://127.0.0.1:9';
  beforeAll(() => {
    process.env['HTTP_PROXY'] = nowhere;
  });
  afterAll(() => {
    delete process.env['HTTP_PROXY'];
    delete process.env['HTTPS_PROXY'];
  });

  it('other gateways are reached without it', async () => {
    const peer = new PooledEndpoint(engine.url, NO_CREDENTIAL, DEFAULT_ENDPOINT_LIMITS);
    const response = await peer.request({ method: 'GET', path: '/tables/livebrokers' });
    response.body.resume();
    expect(response.status).toBe(200);
    await peer.close();
  });

  it('the Kubernetes API is reached through the proxy for https', async () => {
    process.env['HTTPS_PROXY'] = proxyUrl();
    const address = await tlsInFrontOf(engine.port);
    const connections = new ApiConnections();
    const connection = { type: 'agent', connect: { ca: await readFile(ca) } } as const;
    const dispatcher = connections.get({ server: `https://${address}`, headers: {}, fingerprint: '1', connection });
    const { statusCode, body } = await dispatcher.request({
      origin: `https://${address}`,
      path: '/tables/livebrokers',
      method: 'GET',
    });
    await body.dump();
    expect(statusCode).toBe(200);
    expect(await proxy.requests()).toContain(`CONNECT ${address}`);
    await connections.close();
  });
});

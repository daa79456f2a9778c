import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { FakeEngine } from '../../support/fake-engine.ts';
import { GatewayProcess, type GatewayProcessOptions } from '../../support/gateway-process.ts';
import { type ReceivedSpan, SpanCollector } from '../../support/span-collector.ts';
import { until } from '../../support/until.ts';

// What an operator sees of a request in the traces of a real gateway, and that a gateway without a collector is the same as before.

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER = 'b7ad6b7169203331';
const TRACEPARENT = `00-${TRACE}-${CALLER}-01`;
const SECRET = 'a-secret-literal';
const SQL = { sql: `SELECT id FROM orders WHERE city = '${SECRET}' LIMIT 3` };
const ANSWER = {
  resultTable: { dataSchema: { columnNames: ['id'], columnDataTypes: ['LONG'] }, rows: [[1], [2], [3]] },
  exceptions: [],
  tablesQueried: ['orders'],
};

const PRINT_MODULES = {
  NODE_OPTIONS: `--import=${join(import.meta.dirname, '../../support/print-telemetry-modules.ts')}`,
};

let engine: FakeEngine;
let broker: FakeEngine;
let collector: SpanCollector;
let folder: string;
let gateways: GatewayProcess[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-traces-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));
afterEach(async () => {
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  gateways = [];
  await collector.close();
  await engine.close();
  await broker.close();
});

async function prepare(): Promise<void> {
  engine = new FakeEngine();
  await engine.listen();
  broker = new FakeEngine();
  await broker.listen();
  engine.serve(['orders_OFFLINE']);
  engine.json('GET /tables/livebrokers', {
    orders_OFFLINE: [{ host: '127.0.0.1', port: broker.port, instanceName: 'b' }],
  });
  broker.json('POST /query/sql', ANSWER);
  collector = await SpanCollector.start();
}

async function start(options: Partial<GatewayProcessOptions> = {}): Promise<GatewayProcess> {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '50' };
  const gateway = await GatewayProcess.start({ controllers: engine.url, env, ...options });
  gateways.push(gateway);
  return gateway;
}

function send(gateway: GatewayProcess, path: string, body?: unknown, traceparent = TRACEPARENT): Promise<Response> {
  return fetch(gateway.url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${gateway.token}`, 'content-type': 'application/json', traceparent },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

async function spanOf(route: string): Promise<ReceivedSpan> {
  await until(`the span of ${route}`, () => collector.requestSpan(TRACE, route) !== undefined);
  return collector.requestSpan(TRACE, route) as ReceivedSpan;
}

const loaded = ({ program }: GatewayProcess): string[] => [
  ...new Set([...program.output.matchAll(/^loaded (\S+)$/gm)].map(([, name = '']) => name)),
];

const names = (spans: readonly ReceivedSpan[]): string[] => spans.map(({ name }) => name).toSorted();

describe('the trace of a query', () => {
  it('continues that of the caller, and is continued at the broker', async () => {
    await prepare();
    const gateway = await start();
    const answer = await send(gateway, '/query/sql', SQL);
    expect([answer.status, await answer.json()]).toMatchObject([200, { tablesQueried: ['orders'] }]);
    const span = await spanOf('/query/sql');
    expect(span).toMatchObject({
      name: 'POST /query/sql',
      parentSpanId: CALLER,
      status: 0,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/query/sql',
        'http.response.status_code': 200,
        'url.path': '/query/sql',
        'enduser.id': 'srn2:user#admin@localhost',
        'olap_warden.tables': ['orders'],
      },
      resource: { 'service.name': 'olap-warden' },
    });
    const children = collector.childrenOf(span);
    expect(names(children)).toEqual(['POST /query', 'authenticate', 'check SQL', 'decide']);
    const call = children.find(({ kind }) => kind === 3) as ReceivedSpan;
    expect(call.attributes).toMatchObject({
      'http.request.method': 'POST',
      'http.response.status_code': 200,
      'server.address': '127.0.0.1',
      'server.port': broker.port,
      'db.system.name': 'pinot',
      'peer.service': 'broker',
    });
    const asked = broker.seen.findLast(({ url }) => url === '/query/sql');
    expect(asked?.headers['traceparent']).toBe(`00-${TRACE}-${call.spanId}-01`);
    for (const child of children) {
      expect(child.startNanos >= span.startNanos && child.endNanos <= span.endNanos, child.name).toBe(true);
    }
    expect(gateway.program.output).toContain(`"traceId":"${TRACE}"`);
    const texts = collector.spans.map(({ text }) => text).join('\n');
    expect(texts).not.toContain(SECRET);
    expect(texts).not.toContain(gateway.token);
  });

  it('shows which broker failed, and the response that the client got', async () => {
    await prepare();
    broker.answers.set('POST /query/sql', (_request, response) => response.destroy());
    const gateway = await start();
    const answer = await send(gateway, '/query/sql', SQL);
    expect(answer.status).toBe(502);
    const span = await spanOf('/query/sql');
    expect([span.status, span.attributes['error.type']]).toEqual([2, '502']);
    const calls = collector.childrenOf(span).filter(({ kind }) => kind === 3);
    expect(calls.length).toBeGreaterThan(0);
    for (const { status, attributes } of calls) expect([status, attributes['error.type']]).toEqual([2, 'reset']);
  });

  it('ends at a denied decision, which is not an error of the gateway', async () => {
    await prepare();
    const gateway = await start();
    const { bearerToken } = await gateway.tokenFor('nothing', [
      { effect: 'allow', actions: ['GetSchema'], resources: ['srn2:table#others'] },
    ]);
    const headers = { authorization: `Bearer ${bearerToken}`, traceparent: TRACEPARENT };
    const answer = await fetch(`${gateway.url}/query/sql`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(SQL),
    });
    expect(answer.status).toBe(403);
    const span = await spanOf('/query/sql');
    expect([span.status, span.attributes['http.response.status_code']]).toEqual([0, 403]);
    const children = collector.childrenOf(span);
    expect(names(children)).toEqual(['authenticate', 'check SQL', 'decide']);
    expect(children.find(({ name }) => name === 'decide')?.attributes).toMatchObject({
      'olap_warden.action': 'Query',
      'olap_warden.allowed': false,
    });
    expect(collector.spans.map(({ text }) => text).join('\n')).not.toContain(bearerToken);
  });

  it('shows the store, and the other gateway that has the result', async () => {
    await prepare();
    const properties = (name: string): string[] => [
      'olap.broker.pagination.protocol=file',
      `olap.broker.pagination.file.data.dir=${join(folder, name)}`,
    ];
    const holder = await start({
      flags: { 'broker-id': 'holder', 'advertise-host': '127.0.0.1' },
      properties: properties('holder'),
    });
    const reader = await start({
      flags: { 'broker-id': 'reader', peers: `127.0.0.1:${holder.port}` },
      properties: properties('reader'),
      tokensOf: holder,
    });
    const submitted = await send(holder, '/query/sql?doPaginate=true&numRows=1', SQL);
    const { requestId } = (await submitted.json()) as { requestId: string };
    const submission = await spanOf('/query/sql');
    expect(names(collector.childrenOf(submission))).toContain('store result');

    const page = await send(reader, `/query/${requestId}/results?offset=1&numRows=1`);
    expect(page.status).toBe(200);
    await page.json();
    const route = '/query/:requestId/results';
    await until(
      'the spans of both gateways',
      () => collector.spans.filter((span) => span.attributes['http.route'] === route).length === 2,
    );
    const [outer, inner] = collector.spans
      .filter((span) => span.attributes['http.route'] === route)
      .toSorted((a, b) => Number(a.startNanos - b.startNanos)) as [ReceivedSpan, ReceivedSpan];
    const call = collector.childrenOf(outer).find(({ kind }) => kind === 3);
    expect(call?.attributes).toMatchObject({ 'peer.service': 'gateway', 'server.port': holder.port });
    expect(inner.parentSpanId).toBe(call?.spanId);
    expect(names(collector.childrenOf(inner))).toEqual(
      expect.arrayContaining(['authenticate', 'decide', 'open result', 'read result']),
    );
  });
});

describe('the export of spans', () => {
  it('needs the environment variable of an endpoint: without it neither the SDK is loaded nor a trace begun', async () => {
    await prepare();
    const gateway = await start({ env: { ...PRINT_MODULES, OTEL_SERVICE_NAME: 'warden' } });
    expect((await send(gateway, '/query/sql', SQL)).status).toBe(200);
    const asked = broker.seen.findLast(({ url }) => url === '/query/sql');
    expect(asked?.headers['traceparent']).toBe(TRACEPARENT);
    expect(loaded(gateway)).toEqual(['@opentelemetry/api']);
    expect(gateway.program.output).not.toContain('traceId');
    expect(collector.requests).toEqual([]);
  });

  it.each([
    ['OTEL_SDK_DISABLED', 'true'],
    ['OTEL_TRACES_EXPORTER', 'none'],
  ])('is off with %s=%s', async (name, value) => {
    await prepare();
    const gateway = await start({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, [name]: value } });
    await send(gateway, '/query/sql', SQL);
    gateway.program.signalGroup('SIGTERM');
    expect(await gateway.program.exited).toBe(0);
    expect(collector.requests).toEqual([]);
  });

  it('sends the last spans before the process ends, to the endpoint and with the headers and the name of the environment', async () => {
    await prepare();
    const gateway = await start({
      env: {
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/own/path`,
        OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=olap',
        OTEL_SERVICE_NAME: 'warden',
        ...PRINT_MODULES,
      },
    });
    await send(gateway, '/query/sql', SQL);
    gateway.program.signalGroup('SIGTERM');
    expect(await gateway.program.exited).toBe(0);
    expect(collector.requests.map(({ url, headers }) => [url, headers['x-tenant']])).toEqual([['/own/path', 'olap']]);
    expect((await spanOf('/query/sql')).resource['service.name']).toBe('warden');
    expect(loaded(gateway)).toContain('@opentelemetry/sdk-trace');
  });

  it('leaves out what the sampler of the caller leaves out', async () => {
    await prepare();
    const gateway = await start();
    await send(gateway, '/query/sql', SQL, `00-${TRACE}-${CALLER}-00`);
    gateway.program.signalGroup('SIGTERM');
    expect(await gateway.program.exited).toBe(0);
    expect(collector.spans.filter(({ traceId }) => traceId === TRACE)).toEqual([]);
    const asked = broker.seen.findLast(({ url }) => url === '/query/sql');
    expect(asked?.headers['traceparent']).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
  });

  it.each([
    ['does not respond', () => undefined],
    [
      'responds with 500',
      (response: { writeHead: (status: number) => { end: () => void } }) => response.writeHead(500).end(),
    ],
  ])('does not keep requests or the end of the process waiting for a collector that %s', async (_name, respond) => {
    await prepare();
    collector.respond = respond as never;
    const gateway = await start();
    for (let i = 0; i < 20; i++) expect((await send(gateway, '/query/sql', SQL)).status).toBe(200);
    await until('an export', () => collector.requests.length > 0);
    gateway.program.signalGroup('SIGTERM');
    expect(await gateway.program.exited).toBe(0);
    expect(gateway.program.output).not.toContain('unhandled');
  });
});

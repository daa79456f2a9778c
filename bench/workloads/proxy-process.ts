// One side of the pass-through comparison in a separate process, to measure its CPU time. Prints its port and the token that it takes; ends with
// its standard input. Arguments: `engine`, `ours`, `plugin` or `bare`; for all but the first the engine's base URL.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import httpProxy from '@fastify/http-proxy';
import fastify from 'fastify';
import { Pool } from 'undici';
import { startStandalone } from '../../test/support/service.ts';

const [side, url = ''] = process.argv.slice(2);

const SCHEMA = JSON.stringify({ dimensionFieldSpecs: ['a', 'b', 'c', 'd'].map((name) => ({ name, dataType: 'INT' })) });

/** Responds like a broker; the limit of the query is the size of the response in KB. */
async function startEngine(): Promise<number> {
  const rows = (bytes: number) => {
    const row = '[1234567,"2024-01-01 00:00:00.0","customer-000123",98.765]';
    const list = Array.from({ length: Math.floor(bytes / (row.length + 1)) }, () => row).join(',');
    return Buffer.from(`{"resultTable":{"rows":[${list}]},"exceptions":[],"tablesQueried":["orders"]}`);
  };
  const answers = new Map([10, 1024].map((kilobytes) => [String(kilobytes), rows(kilobytes * 1024)]));
  const server = createServer((request, response) => {
    const { port } = server.address() as AddressInfo;
    let sent = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (sent += chunk));
    request.on('end', () => {
      if (request.url?.startsWith('/tables/livebrokers')) {
        response.end(JSON.stringify({ orders_OFFLINE: [{ host: '127.0.0.1', port }] }));
      } else if (request.url?.startsWith('/logicalTables')) response.end('[]');
      else if (request.url?.startsWith('/databases')) response.writeHead(404).end();
      else if (request.url === '/tables/orders/schema') response.end(SCHEMA);
      else {
        const body = answers.get(/LIMIT (\d+)/.exec(sent)?.[1] ?? '') ?? Buffer.alloc(0);
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
        response.end(body);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** The whole gateway, with a service token that may query one table; like the others it writes no access log. */
async function startOurs(): Promise<string> {
  const gateway = await startStandalone({
    controllers: url,
    'log-level': 'warn',
    'max-requests-per-second': 1_000_000,
  });
  const rbac = async <T>(path: string, body: object): Promise<T> => {
    const answer = await gateway.call('POST', `/api/v1/rbac-manager${path}`, body);
    if (!answer.ok) throw new Error(`\`${path}\` returned ${answer.status}: ${await answer.text()}`);
    return (await answer.json()) as T;
  };
  const statements = [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#orders'] }];
  const policyDocumentJson = JSON.stringify({ version: 'v1', statements });
  await rbac('/policies', { name: 'orders', policyDocumentJson });
  const role = await rbac<{ srn: string }>('/roles', { name: 'orders' });
  const roleUrl = `/roles/${encodeURIComponent(role.srn)}`;
  await rbac(`${roleUrl}/attach-policy`, { policySrn: 'srn2:policy#orders' });
  const token = await rbac<{ accessKey: string; bearerToken: string }>('/service-tokens', { description: 'bench' });
  await rbac(`${roleUrl}/create-assignment`, { subject: token.accessKey, subjectType: 'service-token' });
  process.once('exit', () => void gateway.stop());
  return `${new URL(gateway.url).port} ${token.bearerToken}`;
}

/** Only the plugin, without checks. */
async function startPlugin(): Promise<number> {
  const app = fastify();
  await app.register(httpProxy, { upstream: url });
  await app.listen({ host: '127.0.0.1', port: 0 });
  return (app.server.address() as AddressInfo).port;
}

/** Node's server and undici only: the cost without checks, counters and logs. */
async function startBare(): Promise<number> {
  const pool = new Pool(url, { connections: 64 });
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      pool.dispatch(
        {
          method: 'POST',
          path: request.url ?? '',
          headers: { 'content-type': 'application/json' },
          body: Buffer.concat(chunks),
        },
        {
          onRequestStart: () => undefined,
          onResponseStart(controller, status, headers) {
            response.writeHead(status, headers as Record<string, string>);
            response.on('drain', () => controller.resume());
          },
          onResponseData(controller, chunk) {
            if (!response.write(chunk)) controller.pause();
          },
          onResponseEnd: () => void response.end(),
          onResponseError: () => void response.destroy(),
        },
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

const start = { engine: startEngine, ours: startOurs, plugin: startPlugin, bare: startBare }[side ?? ''];
if (start === undefined) throw new Error(`\`${side}\` is not a side: use engine, ours, plugin or bare`);
process.stdout.write(`${await start()}\n`);
process.stdin.on('end', () => process.exit(0)).resume();

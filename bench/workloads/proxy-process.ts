// One side of the pass-through comparison in a process of its own, so that its CPU time is its own. Prints its port; ends with its standard input.
// Arguments: `engine`, `ours` or `plugin`; for the latter two the engine's base URL.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import httpProxy from '@fastify/http-proxy';
import fastify from 'fastify';
import { createEngine } from '../../src/engine/connection.ts';
import { engineProxy } from '../../src/http/engine-proxy/index.ts';
import { authorizerBy, testApp } from '../../test/support/app.ts';

const [side, url = ''] = process.argv.slice(2);

/** Answers as a broker does: the size is in the query string. */
async function startEngine(): Promise<number> {
  const rows = (bytes: number) => {
    const row = '[1234567,"2024-01-01 00:00:00.0","customer-000123",98.765]';
    const list = Array.from({ length: Math.floor(bytes / (row.length + 1)) }, () => row).join(',');
    return Buffer.from(`{"resultTable":{"rows":[${list}]},"exceptions":[],"tablesQueried":["orders"]}`);
  };
  const answers = new Map([10, 1024].map((kilobytes) => [String(kilobytes), rows(kilobytes * 1024)]));
  const server = createServer((request, response) => {
    const { port } = server.address() as AddressInfo;
    request.resume();
    request.on('end', () => {
      const asked = new URL(request.url ?? '', 'http://engine');
      if (asked.pathname === '/tables/livebrokers') {
        response.end(JSON.stringify({ orders_OFFLINE: [{ host: '127.0.0.1', port }] }));
      } else if (asked.pathname === '/logicalTables') response.end('[]');
      else {
        const body = answers.get(asked.searchParams.get('kb') ?? '10') ?? Buffer.alloc(0);
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
        response.end(body);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** Authentication, the tables of the text, the decision and the check of the answer, all on. */
async function startOurs(): Promise<number> {
  const engine = createEngine({ controllerUrls: [url] });
  const authorizer = authorizerBy((_principal, action, { levels }) => action === 'Query' && levels[0]?.id === 'orders');
  const app = await testApp({ authorizer, register: (scope) => engineProxy(scope, { engine }) });
  await app.listen({ host: '127.0.0.1', port: 0 });
  return (app.server.address() as AddressInfo).port;
}

/** The plugin alone: it checks nothing. */
async function startPlugin(): Promise<number> {
  const app = fastify();
  await app.register(httpProxy, { upstream: url });
  await app.listen({ host: '127.0.0.1', port: 0 });
  return (app.server.address() as AddressInfo).port;
}

const start = { engine: startEngine, ours: startOurs, plugin: startPlugin }[side ?? ''];
if (start === undefined) throw new Error(`\`${side}\` is no side`);
process.stdout.write(`${await start()}\n`);
process.stdin.on('end', () => process.exit(0)).resume();

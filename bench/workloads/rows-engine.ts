// An engine in a separate process, with one table `orders`: its controller and its broker. The LIMIT of a query is the number of rows of the response.
// Prints its port; ends with its standard input.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { answer } from './result.ts';

const MAX_KEPT_ROWS = 10_000;
const kept = new Map<number, Buffer>();

/** Small responses are generated once, so that the engine costs little; large ones while they are read. */
function respond(response: ServerResponse, rows: number): void {
  if (rows > MAX_KEPT_ROWS) {
    response.writeHead(200, { 'content-type': 'application/json' });
    pipeline(Readable.from(answer(rows)), response).catch(() => response.destroy());
    return;
  }
  const body = kept.get(rows) ?? Buffer.concat([...answer(rows)]);
  kept.set(rows, body);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
  response.end(body);
}

const server = createServer((request, response) => {
  const { port } = server.address() as AddressInfo;
  const path = request.url ?? '';
  let sent = '';
  request.setEncoding('utf8').on('data', (chunk: string) => (sent += chunk));
  request.on('end', () => {
    if (path.startsWith('/tables/livebrokers')) {
      response.end(JSON.stringify({ orders_OFFLINE: [{ host: '127.0.0.1', port }] }));
    } else if (path.startsWith('/logicalTables')) response.end('[]');
    else if (path.startsWith('/query')) respond(response, Number(/LIMIT (\d+)/.exec(sent)?.[1] ?? 10));
    else response.writeHead(404).end();
  });
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
process.stdin.on('end', () => process.exit(0)).resume();

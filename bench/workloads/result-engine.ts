// An engine in a separate process that responds to `POST …?rows=<n>` with that many rows, so that generating them uses no memory of the storing process.
// Prints its port; ends with its standard input.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { answer } from './result.ts';

const server = createServer((request, response) => {
  request.resume();
  const rows = Number(new URL(request.url ?? '', 'http://engine').searchParams.get('rows'));
  response.writeHead(200, { 'content-type': 'application/json' });
  pipeline(Readable.from(answer(rows)), response).catch(() => response.destroy());
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
process.stdin.on('end', () => process.exit(0)).resume();

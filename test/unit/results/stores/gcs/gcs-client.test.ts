import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../../../../src/platform/clock.ts';
import { GcsObjectClient } from '../../../../../src/results/stores/gcs/gcs-client.ts';
import { listedObjects } from '../../../../../src/results/stores/gcs/listed-objects.ts';
import type { StoredObject } from '../../../../../src/results/stores/object/object-client.ts';
import { collect } from '../../answers.ts';

const signal = new AbortController().signal;
const BYTES = Buffer.from('0123456789');

// The requests of the client, answered as by GCS. `test/integration/results` has the same on a server of its API.
let server: Server;
let ranges: (string | undefined)[];
let client: GcsObjectClient;
beforeEach(async () => {
  ranges = [];
  server = createServer((request, response) => {
    const path = new URL(request.url ?? '', 'http://gcs').pathname;
    if (path.endsWith('/o')) {
      const items = [{ name: 'p/a', size: '5', updated: '2026-11-01T12:00:00Z' }, { name: 'p/b' }];
      return void response.setHeader('content-type', 'application/json').end(JSON.stringify({ items }));
    }
    ranges.push(request.headers.range);
    const [, from = '', to = ''] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    if (!path.endsWith('p%2Fa')) return void response.writeHead(404).end('not found');
    const part = BYTES.subarray(Number(from), Number(to) + 1);
    response.writeHead(206, { 'content-range': `bytes ${from}-${to}/${BYTES.length}` }).end(part);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  client = new GcsObjectClient({ bucket: 'b', prefix: 'p/', endpoint, clock: systemClock });
});
afterEach(() => {
  server.close();
  server.closeAllConnections();
});

it('bytes of an object are requested without one too many', async () => {
  expect(await collect((await client.range('a', 3, 7, signal))!)).toBe('3456');
  expect(ranges).toEqual(['bytes=3-6']);
  expect(await client.range('absent', 0, 1, signal)).toBeUndefined();
});

it('objects are listed by their names without the prefix', async () => {
  const found: StoredObject[] = [];
  for await (const object of client.list('', signal)) found.push(object);
  expect(found).toEqual([
    { key: 'a', bytes: 5, modifiedMs: Date.parse('2026-11-01T12:00:00Z') },
    { key: 'b', bytes: 0, modifiedMs: undefined },
  ]);
});

it.each([
  [null, 'not a JSON object'],
  [{ items: {} }, 'not an array'],
  [{ items: [1] }, 'not a JSON object'],
  [{ items: [{ name: 'a', size: '1.5' }] }, 'not a whole number'],
  [{ items: [{ size: '1' }] }, '`name`'],
  [{ items: [{ name: 'a', updated: 5 }] }, '`updated`'],
  [{ nextPageToken: 5 }, '`nextPageToken`'],
])('a listing of another form is rejected: %j', (body, reason) => {
  expect(() => listedObjects(body)).toThrow(reason);
});

it('an empty page token is none', () => {
  expect(listedObjects({ nextPageToken: '' })).toEqual({ objects: [], nextPageToken: undefined });
  expect(listedObjects({ nextPageToken: 'x' }).nextPageToken).toBe('x');
});

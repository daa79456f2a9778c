// A gateway in a separate process, so that its CPU time does not include that of the client. Prints its port; ends with its standard input.
// Arguments: folder of the store, rows of the results it makes (comma-separated), `generate` or `keep` for the engine's response. For each result it prints `<rows> <requestId>`.
import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import { fileProperties } from '../../test/support/result-stores.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { memoryQueue } from '../../src/api/server/admission/memory.ts';
import { createQueryService } from '../../src/app/parts/query-service.ts';
import { createLogger } from '../../src/platform/logging.ts';
import { DEFAULT_PAGINATION_SETTINGS } from '../../src/results/settings.ts';
import { TEST_HEADERS, testApp } from '../../test/support/app.ts';
import { endpointOf, keptEndpoint } from './result.ts';

const [folder = '', counts = '', kind = 'generate'] = process.argv.slice(2);
let rows = 0;
const endpoint = kind === 'keep' ? keptEndpoint(Number(counts)) : endpointOf(() => rows);
const service = await createQueryService({
  engine: {
    controller: endpoint,
    brokerFor: async () => endpoint,
    endpoint: () => endpoint,
    close: async () => undefined,
    tableNames: () => undefined,
    isLogical: () => false,
    currentTables: async () => [],
    actualTables: async (names) => names,
  },
  identity: { id: 'bench', host: '127.0.0.1', port: 8080 },
  store: fileProperties(folder),
  settings: () => DEFAULT_PAGINATION_SETTINGS,
  registry: new Registry(),
  log: createLogger('silent'),
  clock: systemClock,
  random: (bytes) => randomBytes(bytes),
});
const app = await testApp({
  register: service.register,
  parts: { dataPlane: { ...service.data, memory: memoryQueue() } },
});
await app.listen({ host: '127.0.0.1', port: 0 });
const { port } = app.server.address() as AddressInfo;
for (const count of counts.split(',')) {
  rows = Number(count);
  const submitted = await fetch(`http://127.0.0.1:${port}/query/sql?doPaginate=true&numRows=1`, {
    method: 'POST',
    headers: { ...TEST_HEADERS, 'content-type': 'application/json' },
    body: '{"sql":"SELECT * FROM orders"}',
  });
  const { requestId } = (await submitted.json()) as { requestId: string };
  process.stdout.write(`${count} ${requestId}\n`);
}
process.stdout.write(`ready ${port}\n`);
process.stdin.on('end', () => process.exit(0)).resume();

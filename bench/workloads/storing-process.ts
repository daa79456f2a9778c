// Stores a large result in a separate process and prints by how many bytes its resident memory grew since its warm state, and how many bytes
// the result has. Arguments: JSON of the store's properties, URL of the engine, rows. Run it with --expose-gc.
import type { PropertyValues } from '../../src/platform/setting-schema.ts';
import { createEngine } from '../../src/pinot/connection.ts';
import { openStore, storeOnce } from './store-answer.ts';

const WARM_ROWS = 200_000;
const SAMPLE_MS = 20;
const [properties = '{}', engineUrl = '', rows = ''] = process.argv.slice(2);

const store = await openStore(JSON.parse(properties) as PropertyValues);
const engine = createEngine({ controllerUrls: [engineUrl] });
const endpoint = engine.endpoint(engineUrl);
const query = (count: number) => ({ method: 'POST', path: `/query/sql?rows=${count}`, headers: {}, body: '{}' });

await storeOnce(endpoint, store, query(WARM_ROWS));
globalThis.gc?.();
const idle = process.memoryUsage.rss();
let highest = idle;
const sampler = setInterval(() => {
  highest = Math.max(highest, process.memoryUsage.rss());
}, SAMPLE_MS);
const { bytes } = await storeOnce(endpoint, store, query(Number(rows)));
clearInterval(sampler);
process.stdout.write(`${highest - idle} ${bytes}\n`);
await store.close();
await engine.close();

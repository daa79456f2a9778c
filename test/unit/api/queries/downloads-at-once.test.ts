import { expect, it } from 'vitest';
import { TEST_HEADERS } from '../../../support/app.ts';
import { WAIT_LIMIT_MS } from '../../../support/limits.ts';
import { memoryProperties } from '../../../support/result-stores.ts';
import { answerText, responseOf, StubEndpoint } from '../../results/answers.ts';
import { engineOf, startGateways, stopGateways } from './gateways.ts';

/** More than the buffers of a connection hold, so that a download that nobody reads does not end. */
const ROWS = Array.from({ length: 30 }, (_, i) => `[${i},"${'x'.repeat(1_000_000)}"]`);

it('lets a caller begin four downloads, and read pages beside them', async () => {
  const endpoint = new StubEndpoint();
  endpoint.answer = () => responseOf(answerText(ROWS));
  const gateways = await startGateways(1, { engine: engineOf(endpoint), store: memoryProperties });
  const ended = new AbortController();
  const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(WAIT_LIMIT_MS)]);
  const call = (
    path: string,
    init: { method?: string; body?: string; headers?: Record<string, string> } = {},
  ): Promise<Response> =>
    fetch(`${gateways[0]!.url}${path}`, {
      signal,
      ...init,
      headers: { ...init.headers, ...TEST_HEADERS, 'accept-encoding': 'identity', 'content-type': 'application/json' },
    });
  try {
    const body = JSON.stringify({ sql: 'SELECT * FROM orders' });
    const submitted = await call('/query/sql?doPaginate=true&numRows=1', { method: 'POST', body });
    const { requestId } = (await submitted.json()) as { requestId: string };
    const results = `/query/${requestId}/results`;
    const begun = await Promise.all(
      ['jsonl', 'csv', 'arrow', 'csv'].map((format) => call(`${results}?format=${format}`)),
    );
    expect(begun.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect((await call(`${results}?offset=1&numRows=2`)).status).toBe(200);
    expect((await call(`${results}?format=csv`)).status).toBe(503);
    // The length of CSV is found by converting the rows. The others need no place, and neither do parts of a file.
    expect((await call(`${results}?format=csv`, { method: 'HEAD' })).status).toBe(503);
    const heads = ['jsonl', 'arrow', 'parquet'].map((format) =>
      call(`${results}?format=${format}`, { method: 'HEAD', headers: { range: 'bytes=5-9' } }),
    );
    for (const head of await Promise.all(heads)) {
      expect([head.status, head.headers.get('x-olap-warden-rows'), await head.text()]).toEqual([200, '30', '']);
    }
    const files = Array.from({ length: 12 }, (_, i) =>
      call(`${results}?format=parquet`, { headers: { range: `bytes=${i}-${i}` } }),
    );
    for (const part of await Promise.all(files)) expect([part.status, (await part.text()).length]).toEqual([206, 1]);
  } finally {
    ended.abort();
    await stopGateways(gateways);
  }
});

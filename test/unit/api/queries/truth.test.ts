// @module-tag slow
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TEST_HEADERS } from '../../../support/app.ts';
import { memoryProperties } from '../../../support/result-stores.ts';
import { arrowBatches, download, hashOf, parquetGroups } from '../../../support/truth-readers.ts';
import { trueRows, TruthRows } from '../../../support/truth-rows.ts';
import { responseOf, StubEndpoint } from '../../results/answers.ts';
import { engineOf, startGateways, stopGateways, type TestGateway } from './gateways.ts';

// The short form of test/integration/results/truth.test.ts.
const ROWS = 30_000;
const PAGE = 1009;

describe(`a result of ${ROWS} rows`, () => {
  const truth = new TruthRows(ROWS, PAGE);
  const offsets = truth.offsets();
  let gateways: TestGateway[] = [];
  let results: string;

  beforeAll(async () => {
    const endpoint = new StubEndpoint();
    endpoint.answer = () => responseOf(truth.answer());
    gateways = await startGateways(1, { engine: engineOf(endpoint), store: memoryProperties, isSingle: true });
    const { url } = gateways[0] as TestGateway;
    const submitted = await fetch(`${url}/query/sql?doPaginate=true&numRows=1`, {
      method: 'POST',
      headers: { ...TEST_HEADERS, 'content-type': 'application/json' },
      body: JSON.stringify({ sql: 'SELECT * FROM orders' }),
    });
    const { requestId, numRowsResultSet } = (await submitted.json()) as Record<string, unknown>;
    expect(numRowsResultSet).toBe(ROWS);
    results = `${url}/query/${String(requestId)}/results`;
  });
  afterAll(() => stopGateways(gateways));

  it.each([
    ['forward', offsets],
    ['backward', offsets.toReversed()],
    ['scattered', offsets.map((_, i) => offsets[(i * 7919) % offsets.length] as number)],
  ])('has the rows of the engine in its pages: %s', async (_order, order) => {
    const wrong: number[] = [];
    for (const offset of order) {
      const page = await buffer(await download(`${results}?offset=${offset}&numRows=${PAGE}`, 'identity'));
      if (!truth.isPage(offset, page)) wrong.push(offset);
    }
    expect([new Set(order).size, wrong]).toEqual([offsets.length, []]);
  });

  it('has them as JSON lines and CSV, byte for byte', async () => {
    expect(await hashOf(await download(`${results}?format=jsonl`, 'identity'))).toBe(truth.jsonlHash);
    expect(await hashOf(await download(`${results}?format=csv`, 'identity'))).toBe(truth.csvHash);
  });

  it('has their values in Arrow and Parquet', async () => {
    expect(await trueRows(arrowBatches(await download(`${results}?format=arrow`, 'identity')))).toBe(ROWS);
    expect(await trueRows(parquetGroups(await download(`${results}?format=parquet`, 'identity')))).toBe(ROWS);
  });
});

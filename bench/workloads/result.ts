import type { EngineEndpoint, EngineResponse } from '../../src/pinot/types.ts';
import { Readable } from 'node:stream';

const CITIES = ['New York', 'Zürich', 'São Paulo', '"quoted", Inc', '東京'].map((city) => JSON.stringify(city));
const DATA_SCHEMA =
  '{"columnNames":["orderId","city","ts","tags","price","customer","quantity","status"],' +
  '"columnDataTypes":["LONG","STRING","LONG","STRING_ARRAY","DOUBLE","STRING","INT","STRING"]}';
const HEAD = `{"resultTable":{"dataSchema":${DATA_SCHEMA},"rows":[`;
const TAIL =
  ']},"exceptions":[],"numServersQueried":3,"numServersResponded":3,"numDocsScanned":1000000,"timeUsedMs":1234,"traceInfo":{}}';
const CHUNK_BYTES = 64 * 1024;
const KEPT_ROWS = 100_000;

/** A row of 8 columns, about 106 bytes, whose id cannot be represented as a double. */
export function row(number: number): string {
  return (
    `[${9007199254740993n + BigInt(number)},${CITIES[number % 5]},${1760200000000 + number * 500},["t${number % 5}","t${number % 3}"],` +
    `${(number % 100_000) / 100},"customer-${number}@example.com",${number % 97},"status-${number % 7}"]`
  );
}

/** A response of the engine with that many rows, in chunks like those of a socket. */
export function* answer(rows: number): Iterable<Buffer> {
  let text = HEAD;
  for (let number = 0; number < rows; number++) {
    text += number === 0 ? row(number) : `,${row(number)}`;
    if (text.length < CHUNK_BYTES) continue;
    yield Buffer.from(text);
    text = '';
  }
  yield Buffer.from(text + TAIL);
}

/** The same in memory. Beyond 100,000 rows the chunks repeat, so that a response of any size takes little memory. @param rows a multiple of that then */
export function keptAnswer(rows: number): readonly Buffer[] {
  const kept = Math.min(rows, KEPT_ROWS);
  const [first, ...others] = [...answer(kept)].map((chunk) => chunk.toString());
  const chunks = [first!.slice(HEAD.length), ...others];
  chunks.push(chunks.pop()!.slice(0, -TAIL.length));
  const block = chunks.map((text) => Buffer.from(text));
  const blocks = Array.from({ length: rows / kept }, (_, at) => (at === 0 ? block : [Buffer.from(','), ...block]));
  return [Buffer.from(HEAD), ...blocks.flat(), Buffer.from(TAIL)];
}

/** An endpoint that responds to every query with that many rows, generated while they are read. */
export function endpointOf(rows: () => number): EngineEndpoint {
  return {
    url: 'http://engine.bench',
    request: async (): Promise<EngineResponse> => ({ status: 200, headers: {}, body: Readable.from(answer(rows())) }),
  };
}

/** An endpoint that responds to every query with that many rows, generated once and kept in memory. */
export function keptEndpoint(rows: number): EngineEndpoint {
  const chunks = [...answer(rows)];
  return {
    url: 'http://engine.bench',
    request: async (): Promise<EngineResponse> => ({ status: 200, headers: {}, body: Readable.from(chunks) }),
  };
}

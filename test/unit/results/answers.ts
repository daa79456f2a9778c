import { Readable } from 'node:stream';
import type { EngineEndpoint, EngineRequest, EngineResponse } from '../../../src/pinot/types.ts';
import type { Submission } from '../../../src/results/submit/submit.ts';
import { tableNameOf } from '../../../src/pinot/table-name.ts';

export const DATA_SCHEMA = '{"columnNames":["id","city"],"columnDataTypes":["LONG","STRING"]}';

/** Rows with ids that a double cannot represent. */
export function rowTexts(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `[${9007199254740993n + BigInt(i) * 2n},"Zürich \\"${i}\\" ],["]`);
}

/** A response of the engine, with fields in the engine's order. */
export function answerText(rows: readonly string[], options: { exceptions?: string; separator?: string } = {}): string {
  return (
    `{"resultTable":{"dataSchema":${DATA_SCHEMA},"rows":[${rows.join(options.separator ?? ',')}]},` +
    `"exceptions":${options.exceptions ?? '[]'},"numServersQueried":1,"numDocsScanned":3,"requestId":"7","brokerId":"Broker_a_1",` +
    `"timeUsedMs":12,"traceInfo":{},"minConsumingFreshnessTimeMs":9007199254740993,"realtimeTotalCpuTimeNs":0}`
  );
}

/**
 * The response of Pinot 0.11 to a query of a table whose segments are all pruned by the broker. That for a table without segments is the same, and so is the one
 * while all servers are down.
 */
export const NO_SERVER_QUERIED =
  '{"exceptions":[],"numServersQueried":0,"numServersResponded":0,"numSegmentsQueried":0,"numSegmentsProcessed":0,"numSegmentsMatched":0,' +
  '"numConsumingSegmentsQueried":0,"numConsumingSegmentsProcessed":0,"numConsumingSegmentsMatched":0,"numDocsScanned":0,' +
  '"numEntriesScannedInFilter":0,"numEntriesScannedPostFilter":0,"numGroupsLimitReached":false,"totalDocs":0,"timeUsedMs":0,' +
  '"offlineThreadCpuTimeNs":0,"realtimeThreadCpuTimeNs":0,"segmentStatistics":[],"traceInfo":{},"minConsumingFreshnessTimeMs":0,' +
  '"numSegmentsPrunedByBroker":0,"numRowsResultSet":0,"numSegmentsPrunedByServer":0,"numSegmentsPrunedInvalid":0}';

export interface AnswerOptions {
  readonly chunkBytes?: number;
  readonly status?: number;
  readonly headers?: EngineResponse['headers'];
}

/** The bytes as a response of the engine, in chunks. */
export function responseOf(body: string | Uint8Array, options: AnswerOptions = {}): EngineResponse {
  const bytes = Buffer.from(body);
  const size = options.chunkBytes ?? 64 * 1024;
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
  return {
    status: options.status ?? 200,
    headers: { 'content-type': 'application/json', ...options.headers },
    body: Readable.from(chunks, { objectMode: true }),
  };
}

export function submission(over: Partial<Submission> = {}): Submission {
  return {
    requestId: '00000000-000000000000000000000000000001',
    brokerId: 'Broker_gateway-0_8080',
    owner: 'srn2:user#alice@example.com',
    tables: [tableNameOf('orders')],
    submissionTimeMs: 1000,
    expirationTimeMs: 61_000,
    ...over,
  };
}

/** An endpoint with a fixed response that records its requests. */
export class StubEndpoint implements EngineEndpoint {
  readonly url = 'http://broker.test:8099';
  readonly requests: EngineRequest[] = [];
  answer: (request: EngineRequest) => EngineResponse | Promise<EngineResponse> = () =>
    responseOf(answerText(rowTexts(3)));

  async request(request: EngineRequest): Promise<EngineResponse> {
    this.requests.push(request);
    return this.answer(request);
  }
}

export async function collect(pieces: AsyncIterable<Uint8Array> | readonly Uint8Array[]): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all).toString();
}

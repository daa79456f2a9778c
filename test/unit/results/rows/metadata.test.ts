import { describe, expect, it } from 'vitest';
import { cursorMetadataJson, listingItem, metadataJson } from '../../../../src/results/rows/metadata.ts';
import { unreadableResult } from '../../../../src/results/stores/record-json.ts';
import type { ResultRecord } from '../../../../src/results/result-store.ts';
import { submission } from '../answers.ts';

const FILES = { bytes: 30, dataFile: 'a.rows', metadataFile: 'a.json' };
const { record } = unreadableResult({ requestId: 'a', modifiedMs: 0, reason: '', ...FILES });

const fieldsOf = (values: Readonly<Record<string, string>>): ResultRecord['fields'] =>
  Object.entries(values).map(([name, value]) => ({ name, value }));

it('metadata has fields of the engine only with the type of the specification', () => {
  const values = {
    exceptions: 'null',
    segmentStatistics: '[1]',
    traceInfo: '[]',
    numGroupsLimitReached: 'true',
    maxRowsInJoinReached: 'false',
    partialResult: '"true"',
    numServersQueried: '"3"',
    numServersResponded: '-1',
    numSegmentsQueried: '0',
    numSegmentsProcessed: 'null',
    numSegmentsMatched: '5',
    numDocsScanned: '[7]',
    totalDocs: '9007199254740993',
    timeUsedMs: 'false',
  };
  const text = metadataJson({ ...record, fields: fieldsOf(values) });
  for (const [name, value] of Object.entries({
    ...values,
    ...{ exceptions: '[]', traceInfo: '{}', partialResult: 'false', numServersQueried: '0', timeUsedMs: '0' },
    ...{ numSegmentsProcessed: '0', numDocsScanned: '0' },
  }))
    expect(text).toContain(`"${name}":${value},`);
});

describe('the metadata of a result as that of a cursor', () => {
  const result: ResultRecord = {
    ...record,
    ...submission({ requestId: 'a', brokerId: 'b' }),
    rowCount: 4,
    rowBytes: 100,
    fields: fieldsOf({ offset: '7', brokerHost: '"engine"', totalDocs: '9007199254740993', traceInfo: '{ }' }),
  };
  const own =
    '{"numRowsResultSet":4,"exceptions":[],"requestId":"a","brokerId":"b","offset":0,"numRows":4,' +
    '"submissionTimeMs":1000,"expirationTimeMs":61000,';
  const others = ',"totalDocs":9007199254740993,"traceInfo":{ }}';

  it('has the fields of the gateway, then those of the engine with other names', () => {
    expect(cursorMetadataJson(result, undefined)).toBe(`${own}"bytesWritten":100,"tablesQueried":["orders"]${others}`);
  });

  it('has the address of the gateway that keeps it', () => {
    expect(cursorMetadataJson(result, { host: 'h', port: 8080 })).toBe(
      `${own}"bytesWritten":100,"tablesQueried":["orders"],"brokerHost":"h","brokerPort":8080${others}`,
    );
  });
});

it('an entry of the listing says why a result cannot be read, only if it is damaged', () => {
  const item = {
    requestId: 'a',
    brokerId: record.brokerId,
    submissionTimeMs: 0,
    expirationTimeMs: record.expirationTimeMs,
    responseMetadata: [{ type: 'resultTable', numRows: record.rowCount, dataFile: 'a.rows', metadataFile: 'a.json' }],
    owner: record.owner,
    bytes: 30,
  };
  expect(Object.entries(listingItem({ record, ...FILES }))).toEqual(Object.entries(item));
  expect(listingItem({ record, ...FILES, damaged: 'its rows are incomplete' })).toEqual({
    ...item,
    damaged: 'its rows are incomplete',
  });
});

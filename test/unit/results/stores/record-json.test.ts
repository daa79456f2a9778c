import { expect, it } from 'vitest';
import { recordFromJson, recordToJson, unreadableResult } from '../../../../src/results/stores/record-json.ts';
import { statusOfRecord } from '../../../../src/results/runs/status.ts';

const NOW = Date.parse('2026-11-01T12:00:00Z');
const DAY_MS = 86_400_000;

const damaged = () =>
  unreadableResult({
    requestId: 'a',
    modifiedMs: NOW,
    reason: 'its record is not valid JSON',
    bytes: 5,
    dataFile: 'a.rows',
    metadataFile: 'a.json',
  });

it('a result without a readable record is listed with the reason, and expires a day after its last change', () => {
  expect(damaged()).toMatchObject({
    damaged: 'its record is not valid JSON',
    bytes: 5,
    record: { requestId: 'a', submissionTimeMs: NOW, expirationTimeMs: NOW + DAY_MS },
  });
});

it('the status of a stored result has the fields that its record has', () => {
  const { record } = damaged();
  expect(statusOfRecord(record)).toEqual({
    requestId: 'a',
    brokerId: '',
    owner: '',
    tables: [],
    state: 'done',
    submissionTimeMs: NOW,
    rowCount: 0,
    bytes: 0,
    expirationTimeMs: NOW + DAY_MS,
  });
  const more = { sql: 'SELECT 1', storedTimeMs: NOW + 5, warnings: ['the default of 10 rows applied'] };
  expect(statusOfRecord({ ...record, ...more })).toMatchObject({
    sql: 'SELECT 1',
    endTimeMs: NOW + 5,
    warnings: ['the default of 10 rows applied'],
  });
});

it('a result whose rows an earlier build left in Pinot says so where it is read', () => {
  const cursor = { url: 'http://broker:8099', requestId: '7', submissionTimeMs: 5, bytes: 10 };
  const json = recordToJson({ ...damaged().record, cursor } as never);
  expect(() => recordFromJson(json)).toThrow(
    'the stored result is damaged: its rows were left in Pinot, by a property that no longer exists ' +
      '(`olap.broker.pagination.native`). Run the query again',
  );
});

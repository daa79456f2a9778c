import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  decodeIndex,
  encodeIndex,
  MAX_INDEX_LENGTH,
  type FindingIndex,
} from '../../../../src/health/report/finding-index.ts';
import type { Finding } from '../../../../src/resources/health-finding.ts';

/** A text that cannot be compressed well. */
const hash = (i: number): string => createHash('sha256').update(String(i)).digest('base64');
const finding = (i: number, more: Partial<Finding> = {}): Finding => ({
  entityType: 'table',
  entity: `t${i}_OFFLINE`,
  message: `the replication is ${i}`,
  observed: '1',
  threshold: 'at least 3',
  severity: 'warning',
  since: '2026-11-21T10:00:00.000Z',
  ...more,
});
const many = (count: number, make = finding) => Array.from({ length: count }, (_, i) => make(i));
const index = (findings: Readonly<Record<string, readonly Finding[]>>, more: Partial<FindingIndex> = {}) => ({
  tables: ['t0_OFFLINE'],
  instances: ['Server_a_8098'],
  findings: new Map(Object.entries(findings)),
  carried: new Map<string, readonly Finding[]>(),
  complete: true,
  ...more,
});
const roundTrip = (value: FindingIndex): FindingIndex => {
  const text = encodeIndex(value);
  expect(text.length).toBeLessThanOrEqual(MAX_INDEX_LENGTH);
  const decoded = decodeIndex(text);
  if (decoded === undefined) throw new Error('the index cannot be decoded');
  return decoded;
};

describe('the index of findings', () => {
  it('has all of them', () => {
    const value = index({ A_CHECK: many(3_000), B_CHECK: [finding(1, { couldNotRead: true, severity: 'critical' })] });
    expect(roundTrip(value)).toEqual(value);
    expect(roundTrip(index({}))).toEqual(index({}));
  });

  it('keeps hostile names as they are', () => {
    const entity = '<script>\n"\\ü\u0000';
    expect(roundTrip(index({ A_CHECK: [finding(1, { entity })] })).findings.get('A_CHECK')?.[0]?.entity).toBe(entity);
  });

  it('leaves out texts before entities', () => {
    const value = index({
      A_CHECK: many(2_000, (i) => finding(i, { message: hash(i) + hash(-i), observed: hash(i) })),
    });
    const decoded = roundTrip(value);
    expect(decoded.complete).toBe(true);
    expect(decoded.tables).toEqual(['t0_OFFLINE']);
    expect(decoded.findings.get('A_CHECK')).toHaveLength(2_000);
    expect(decoded.findings.get('A_CHECK')?.[1_999]).toMatchObject({ entity: 't1999_OFFLINE', message: '' });
  });

  it('is bounded for any cluster, and says so', () => {
    const names = many(50_000).map((_, i) => hash(i));
    const value = index(
      { A_CHECK: many(10_000, (i) => finding(i, { entity: hash(i).repeat(10) })), B_CHECK: many(3) },
      { tables: names, instances: names },
    );
    const decoded = roundTrip(value);
    expect(decoded.complete).toBe(false);
    expect(decoded.tables).toBeUndefined();
    expect(decoded.findings.get('B_CHECK')).toHaveLength(3);
    expect(roundTrip(index({ A_CHECK: many(15_000), B_CHECK: many(15_000) })).findings.get('B_CHECK')).toHaveLength(
      10_000,
    );
  });

  it.each(['', 'no base64', Buffer.from('text').toString('base64'), gzipSync('{').toString('base64')])(
    'is absent for %j',
    (text) => {
      expect(decodeIndex(text)).toBeUndefined();
    },
  );

  it('is not decoded beyond its limit', () => {
    expect(decodeIndex(gzipSync(Buffer.alloc(33 * 1024 * 1024, ' ')).toString('base64'))).toBeUndefined();
  });
});

import { expect, it } from 'vitest';
import { ExportLimit } from '../../../../src/results/export/limit.ts';

it('leaves half of the downloads to other callers', () => {
  const limit = new ExportLimit(() => ({ maxInAll: 8, maxPerCaller: 4 }));
  const ends = Array.from({ length: 4 }, () => limit.begin('a'));
  expect(() => limit.begin('a')).toThrow('concurrent download limit (4) of one caller exceeded');
  for (let i = 0; i < 4; i++) ends.push(limit.begin('b'));
  expect(() => limit.begin('c')).toThrow('concurrent download limit (8) of this gateway exceeded');
  ends[0]!();
  ends[0]!();
  ends.push(limit.begin('a'));
  expect(() => limit.begin('c')).toThrow('of this gateway exceeded');
  for (const end of ends) end();
  expect(() => Array.from({ length: 4 }, () => limit.begin('c'))).not.toThrow();
});

it('follows the settings', () => {
  let limits = { maxInAll: 2, maxPerCaller: 1 };
  const limit = new ExportLimit(() => limits);
  limit.begin('a');
  expect(() => limit.begin('a')).toThrow('concurrent download limit (1) of one caller exceeded');
  limits = { maxInAll: 2, maxPerCaller: 2 };
  limit.begin('a');
  expect(() => limit.begin('b')).toThrow('concurrent download limit (2) of this gateway exceeded');
});

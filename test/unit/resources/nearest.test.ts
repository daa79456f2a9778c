import { expect, it } from 'vitest';
import { nearest } from '../../../src/resources/nearest.ts';

const KNOWN = ['effect', 'actions', 'resources', 'Query', 'GetTable'];

it('returns an equal name', () => {
  expect(nearest('UpdateTabelConfigs', ['UpdateTableConfigs', ...KNOWN])).toBe('UpdateTableConfigs');
  expect(nearest('UpdateTabelConfigs', [...KNOWN, 'UpdateTableConfigs', 'UpdateTable'])).toBe('UpdateTableConfigs');
});

it.each([
  ['action', 'actions'],
  ['efect', 'effect'],
  ['EFFECT', 'effect'],
  ['quary', 'Query'],
  ['gettables', 'GetTable'],
  ['conditions', undefined],
  ['x', undefined],
  ['q'.repeat(100_000), undefined],
])('returns the closest name to %s', (name, expected) => {
  expect(nearest(name, KNOWN)).toBe(expected);
});

import { expect, it } from 'vitest';
import { nearest } from '../../../src/resources/nearest.ts';

const KNOWN = ['effect', 'actions', 'resources', 'Query', 'GetTable'];

it('finds the same name whatever else is known', () => {
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
])('finds what %s was meant to be', (name, expected) => {
  expect(nearest(name, KNOWN)).toBe(expected);
});

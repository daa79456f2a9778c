import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { PropertySet } from '../../../src/config/property-set.ts';
import { integer, type PropertyGroup, text } from '../../../src/platform/setting-schema.ts';

const first: PropertyGroup = {
  properties: { 'a.size': integer({ description: 'A.', default: 1 }) },
  problems: (values) => (Number(values['a.size']) > Number(values['b.size']) ? ['`a.size` is too large'] : []),
};
const second: PropertyGroup = {
  properties: {
    'b.size': integer({ description: 'B.', default: 2 }),
    'b.name': Type.Optional(text({ description: 'B.' })),
  },
};

describe('a set of properties', () => {
  const set = new PropertySet([first, second]);

  it('has the keys of all groups, in order, with their defaults', () => {
    expect([...set.keys.keys()]).toEqual(['a.size', 'b.size', 'b.name']);
    expect(set.resolve([])).toEqual({ values: { 'a.size': 1, 'b.size': 2 }, problems: [] });
  });

  it('checks the rules of a group on the values of all groups, once every value is valid', () => {
    const written = { key: 'a.size', raw: '3', source: 'test' };
    expect(set.resolve([written]).problems).toEqual(['`a.size` is too large']);
    const invalid = { key: 'b.size', raw: 'many', source: 'test' };
    expect(set.resolve([written, invalid]).problems).toEqual(['test: `b.size`: `many` is not an integer']);
  });

  it('rejects groups with the same key', () => {
    const again = { properties: { 'b.size': integer({ description: 'B again.' }) } };
    expect(() => new PropertySet([first, second, again])).toThrow('two groups declare the property `b.size`');
  });
});

import { expect, it } from 'vitest';
import { Backreferences } from '../../../../src/operator/reconcilers/backreferences.ts';

it('returns the owners of a reference after every change', () => {
  const index = new Backreferences();
  const of = (name: string): string[] => Array.from(index.ownersOf(name)).sort();
  index.set('analysts', ['read', 'write']);
  index.set('admins', ['write']);
  expect([of('read'), of('write'), of('none')]).toEqual([['analysts'], ['admins', 'analysts'], []]);
  index.set('analysts', ['none']);
  expect([of('read'), of('write'), of('none')]).toEqual([[], ['admins'], ['analysts']]);
  index.delete('admins');
  index.set('analysts', []);
  expect([of('read'), of('write'), of('none')]).toEqual([[], [], []]);
});

it('returns at most three owners, and the same ones while they are owners', () => {
  const index = new Backreferences();
  for (const owner of ['a', 'b', 'c', 'd', 'e']) index.set(owner, ['read']);
  const some = index.someOwnersOf('read');
  expect(some).toHaveLength(3);
  expect(index.someOwnersOf('read', ['e', 'd'])).toEqual(['e', 'd', 'a']);
  index.delete('e');
  expect(index.someOwnersOf('read', ['e', 'd', 'a'])).toEqual(['d', 'a', 'b']);
  for (const owner of ['a', 'b', 'c', 'd']) index.delete(owner);
  expect(index.someOwnersOf('read', ['d', 'a', 'b'])).toEqual([]);
});

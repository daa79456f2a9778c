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

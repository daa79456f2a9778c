import { beforeEach, describe, expect, test } from 'vitest';
import { isNewer } from '../../../src/store/resource-version.ts';
import { View } from '../../../src/store/view.ts';
import { role } from '../../builders/resources.ts';

describe('the local view of a kind', () => {
  let view: View<'Role'>;
  let errors: unknown[];

  beforeEach(() => {
    errors = [];
    view = new View('Role', (error) => errors.push(error));
  });

  test('a returned list does not change', () => {
    view.set(role('b'));
    const before = view.list();
    expect(view.list()).toBe(before);
    view.set(role('a'));
    view.set(role('c'));
    view.delete('b');
    expect(before).toEqual([role('b')]);
    expect(view.list().map(({ metadata }) => metadata.name)).toEqual(['a', 'c']);
  });

  test('stays sorted after many changes', () => {
    const names = Array.from({ length: 500 }, (_, i) => `n${(i * 7919) % 500}`);
    for (const name of names) view.set(role(name));
    for (const name of names.slice(0, 250)) view.delete(name);
    const left = [...new Set(names.slice(250))].sort();
    expect(view.list().map(({ metadata }) => metadata.name)).toEqual(left);
  });

  test('a listener that subscribes during an event receives it once', () => {
    const heard: string[] = [];
    let subscribed = false;
    view.subscribe(() => {
      if (subscribed) return;
      subscribed = true;
      view.subscribe(({ type, object }) => heard.push(`${type} ${object.metadata.name}`));
    });
    view.set(role('a'));
    view.set(role('b'));
    expect(heard).toEqual(['added a', 'added b']);
  });

  test('a listener that unsubscribes during an event receives no further events, not even that one', () => {
    const heard: string[] = [];
    const ends: (() => void)[] = [];
    view.subscribe(() => ends[0]?.());
    ends.push(view.subscribe(({ object }) => heard.push(object.metadata.name)));
    view.set(role('a'));
    expect(heard).toEqual([]);
  });

  test('a listener that throws is reported', () => {
    const error = new Error('broken');
    view.subscribe(() => {
      throw error;
    });
    view.set(role('a'));
    expect(errors).toEqual([error]);
  });
});

describe('a resource version is newer', () => {
  test.each([
    ['10', '9', true],
    ['9', '10', false],
    ['10', '10', false],
    ['90071992547409932', '90071992547409931', true],
    ['1', undefined, true],
    [undefined, undefined, false],
    ['abc', '10', true],
    ['abc', 'abc', false],
  ])('%s than %s: %s', (a, b, newer) => {
    expect(isNewer(a, b)).toBe(newer);
  });
});

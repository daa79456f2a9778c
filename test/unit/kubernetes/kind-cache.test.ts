import { beforeEach, describe, expect, test } from 'vitest';
import type { Role } from '../../../src/resources/kinds.ts';
import { KindCache } from '../../../src/kubernetes/kind-cache.ts';
import { View } from '../../../src/store/view.ts';
import { role, withMeta } from '../../builders/resources.ts';

let view: View<'Role'>;
let cache: KindCache<'Role'>;
let events: string[];

const at = (name: string, version: number, uid = `uid-${name}`): Role =>
  role(name, {}, withMeta({ uid, resourceVersion: String(version) }));
const versionOf = (name: string) => view.get(name)?.metadata.resourceVersion;

beforeEach(() => {
  view = new View('Role', (error) => {
    throw error;
  });
  cache = new KindCache(view);
  events = [];
  cache.listStarted();
  cache.replace([at('a', 5)], '10');
  view.subscribe(({ type, object }) =>
    events.push(`${type} ${object.metadata.name}@${object.metadata.resourceVersion}`),
  );
  events.length = 0;
});

describe('a write and the watch say the same', () => {
  test('the answer first: the event is no news', () => {
    cache.written(at('a', 11));
    expect(events).toEqual(['modified a@11']);
    cache.upsert(at('a', 11));
    expect(events).toHaveLength(1);
  });

  test('the event first: the answer is no news', () => {
    cache.upsert(at('a', 11));
    cache.written(at('a', 11));
    expect(events).toEqual(['modified a@11']);
  });

  test('an answer that comes after a later event does not go back in time', () => {
    cache.upsert(at('a', 11));
    cache.upsert(at('a', 12));
    cache.written(at('a', 11));
    expect(versionOf('a')).toBe('12');
  });

  test('events that are older than an answer do not go back in time', () => {
    cache.written(at('a', 13));
    cache.upsert(at('a', 11));
    cache.upsert(at('a', 12));
    expect(events).toEqual(['modified a@13']);
  });

  test('versions are compared as numbers of any size', () => {
    cache.written(at('a', 100));
    cache.upsert(at('a', 99));
    expect(versionOf('a')).toBe('100');
    const [small, large] = ['90071992547409931', '90071992547409932'];
    cache.upsert({ ...at('a', 0), metadata: { name: 'a', uid: 'uid-a', resourceVersion: large } });
    cache.upsert({ ...at('a', 0), metadata: { name: 'a', uid: 'uid-a', resourceVersion: small } });
    expect(versionOf('a')).toBe(large);
  });
});

describe('what was deleted does not come back', () => {
  test('by an event from before the deletion', () => {
    cache.deleted('a', 'uid-a');
    cache.upsert(at('a', 11));
    cache.remove(at('a', 12));
    expect(events).toEqual(['deleted a@5']);
  });

  test('by the late answer to an update, before or after the DELETED event', () => {
    cache.deleted('a', 'uid-a');
    cache.written(at('a', 11));
    cache.remove(at('a', 12));
    cache.written(at('a', 11));
    expect(events).toEqual(['deleted a@5']);
  });

  test('by the late answer to an update, where somebody else deleted it', () => {
    cache.upsert(at('a', 11));
    cache.remove(at('a', 12));
    cache.written(at('a', 11));
    expect(view.get('a')).toBeUndefined();
  });

  test('by an answer that a bookmark has passed', () => {
    cache.remove(at('a', 11));
    cache.bookmark('20');
    cache.written(at('a', 15));
    expect(view.get('a')).toBeUndefined();
  });

  test('but a new object of the name may come, and the old ones event does not remove it', () => {
    cache.deleted('a', 'uid-a');
    cache.written(at('a', 13, 'second'));
    cache.remove(at('a', 12));
    expect(events).toEqual(['deleted a@5', 'added a@13']);
    cache.upsert(at('a', 13, 'second'));
    cache.remove(at('a', 14, 'second'));
    expect(events).toEqual(['deleted a@5', 'added a@13', 'deleted a@14']);
  });

  test('a deletion of an older object of the name is not taken for one of this', () => {
    cache.deleted('a', 'another');
    expect(view.get('a')).toBeDefined();
  });
});

describe('a list replaces everything', () => {
  test('with the events that lead there', () => {
    cache.upsert(at('b', 11));
    events.length = 0;
    cache.listStarted();
    cache.replace([at('b', 14), at('c', 13)], '15');
    expect(events).toEqual(['deleted a@5', 'modified b@14', 'added c@13']);
  });

  test('except what was written while it ran', () => {
    cache.listStarted();
    cache.written(at('a', 16));
    cache.written(at('new', 17));
    cache.replace([at('a', 5)], '15');
    expect(events).toEqual(['modified a@16', 'added new@17']);
    expect(view.list()).toHaveLength(2);
  });

  test('and except what was deleted while it ran', () => {
    cache.listStarted();
    cache.deleted('a', 'uid-a');
    cache.replace([at('a', 5)], '15');
    expect(events).toEqual(['deleted a@5']);
  });

  test('an object that was made anew is modified, whatever its version', () => {
    cache.listStarted();
    cache.replace([at('a', 5, 'second')], '15');
    expect(events).toEqual(['modified a@5']);
    expect(view.get('a')?.metadata.uid).toBe('second');
  });

  test('also by what is older, after a restore: what this process wrote long before is no exception', () => {
    cache.written(at('a', 900));
    cache.written(at('b', 901));
    cache.listStarted();
    cache.replace([at('a', 4)], '8');
    expect(view.list()).toEqual([at('a', 4)]);
    cache.upsert(at('a', 9));
    expect(versionOf('a')).toBe('9');
  });

  test('what it does not change is no event', () => {
    cache.listStarted();
    cache.replace([at('a', 5)], '15');
    expect(events).toEqual([]);
  });
});

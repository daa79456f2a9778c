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

describe('a write arrives in its response and in the watch', () => {
  test('the response first: the event is ignored', () => {
    cache.written(at('a', 11));
    expect(events).toEqual(['modified a@11']);
    cache.upsert(at('a', 11));
    expect(events).toHaveLength(1);
  });

  test('the event first: the response is ignored', () => {
    cache.upsert(at('a', 11));
    cache.written(at('a', 11));
    expect(events).toEqual(['modified a@11']);
  });

  test('a response after a later event is ignored', () => {
    cache.upsert(at('a', 11));
    cache.upsert(at('a', 12));
    cache.written(at('a', 11));
    expect(versionOf('a')).toBe('12');
  });

  test('events older than a response are ignored', () => {
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

describe('a deleted object is not added again', () => {
  test('by an event from before the deletion', () => {
    cache.deleted('a', 'uid-a');
    cache.upsert(at('a', 11));
    cache.remove(at('a', 12));
    expect(events).toEqual(['deleted a@5']);
  });

  test('by the late response to an update, before or after the DELETED event', () => {
    cache.deleted('a', 'uid-a');
    cache.written(at('a', 11));
    cache.remove(at('a', 12));
    cache.written(at('a', 11));
    expect(events).toEqual(['deleted a@5']);
  });

  test('by the late response to an update, if another client deleted it', () => {
    cache.upsert(at('a', 11));
    cache.remove(at('a', 12));
    cache.written(at('a', 11));
    expect(view.get('a')).toBeUndefined();
  });

  test('by a response older than a bookmark', () => {
    cache.remove(at('a', 11));
    cache.bookmark('20');
    cache.written(at('a', 15));
    expect(view.get('a')).toBeUndefined();
  });

  test('but a new object with the name is added, and the event of the old one does not remove it', () => {
    cache.deleted('a', 'uid-a');
    cache.written(at('a', 13, 'second'));
    cache.remove(at('a', 12));
    expect(events).toEqual(['deleted a@5', 'added a@13']);
    cache.upsert(at('a', 13, 'second'));
    cache.remove(at('a', 14, 'second'));
    expect(events).toEqual(['deleted a@5', 'added a@13', 'deleted a@14']);
  });

  test('the deletion of an older object with the name is ignored', () => {
    cache.deleted('a', 'another');
    expect(view.get('a')).toBeDefined();
  });
});

describe('a list replaces everything', () => {
  test('and causes the events for the differences', () => {
    cache.upsert(at('b', 11));
    events.length = 0;
    cache.listStarted();
    cache.replace([at('b', 14), at('c', 13)], '15');
    expect(events).toEqual(['deleted a@5', 'modified b@14', 'added c@13']);
  });

  test('except objects written during the list', () => {
    cache.listStarted();
    cache.written(at('a', 16));
    cache.written(at('new', 17));
    cache.replace([at('a', 5)], '15');
    expect(events).toEqual(['modified a@16', 'added new@17']);
    expect(view.list()).toHaveLength(2);
  });

  test('and except objects deleted during the list', () => {
    cache.listStarted();
    cache.deleted('a', 'uid-a');
    cache.replace([at('a', 5)], '15');
    expect(events).toEqual(['deleted a@5']);
  });

  test('an object that was created again is modified, whatever its version', () => {
    cache.listStarted();
    cache.replace([at('a', 5, 'second')], '15');
    expect(events).toEqual(['modified a@5']);
    expect(view.get('a')?.metadata.uid).toBe('second');
  });

  test('also by older objects, after a restore: earlier writes of this process are no exception', () => {
    cache.written(at('a', 900));
    cache.written(at('b', 901));
    cache.listStarted();
    cache.replace([at('a', 4)], '8');
    expect(view.list()).toEqual([at('a', 4)]);
    cache.upsert(at('a', 9));
    expect(versionOf('a')).toBe('9');
  });

  test('an unchanged object causes no event', () => {
    cache.listStarted();
    cache.replace([at('a', 5)], '15');
    expect(events).toEqual([]);
  });
});

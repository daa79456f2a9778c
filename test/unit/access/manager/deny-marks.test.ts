import { describe, expect, it } from 'vitest';
import type { AccessState } from '../../../../src/access/manager/administrator-reach.ts';
import { isMarked, removeMarks, unmark, withMark } from '../../../../src/access/manager/deny-marks.ts';
import type { Policy, Role } from '../../../../src/resources/kinds.ts';
import { StoreError } from '../../../../src/store/resource-store.ts';
import { policy, role } from '../../../builders/resources.ts';
import { MemoryStore } from '../memory-store.ts';

const code = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof StoreError ? error.code : String(error)),
  );

function setUp() {
  const store = new MemoryStore();
  store.seed(
    withMark(policy('p'), 'p 1'),
    withMark(policy('pp'), 'pp 1'),
    policy('q'),
    withMark(role('r', { policies: ['p'] }), 'p 2'),
    withMark(role('s'), 'q 1'),
  );
  const state = (): AccessState => ({
    policies: store.truth('Policy'),
    roles: store.truth('Role'),
    assignments: [],
  });
  const marked = (): string[] =>
    [...store.truth('Policy'), ...store.truth('Role')]
      .filter((object: Policy | Role) => isMarked(object))
      .map(({ metadata }) => metadata.name);
  return { store, state, marked };
}

describe('the marks of other writes', () => {
  it('are removed, each or those about one policy, but not the own one', async () => {
    const all = setUp();
    await removeMarks(all, all.state(), { except: 'Policy p' });
    expect(all.marked()).toEqual(['p']);
    const some = setUp();
    await removeMarks(some, some.state(), { except: 'Role r', policy: 'p' });
    expect(some.marked()).toEqual(['pp', 'r', 's']);
    await removeMarks(some, some.state(), {});
    expect(some.marked()).toEqual([]);
  });

  it.each([
    ['not-found', 'conflict'],
    ['conflict', 'conflict'],
    ['unavailable', 'unavailable'],
    ['forbidden', 'forbidden'],
  ] as const)('a write that ends with %s ends with %s', async (thrown, expected) => {
    const { store, state } = setUp();
    store.beforeWrite = () => {
      throw new StoreError(thrown, 'x');
    };
    expect(await code(removeMarks({ store }, state(), {}))).toBe(expected);
  });
});

it.each([
  ['not-found', 'done'],
  ['conflict', 'done'],
  ['unavailable', 'unavailable'],
  ['forbidden', 'forbidden'],
] as const)('the removal of the own mark that ends with %s ends with %s', async (thrown, expected) => {
  const { store, marked } = setUp();
  await unmark({ store }, store.get('Policy', 'p')!);
  expect(marked()).toEqual(['pp', 'r', 's']);
  store.beforeWrite = () => {
    throw new StoreError(thrown, 'x');
  };
  expect(await code(unmark({ store }, store.get('Policy', 'pp')!))).toBe(expected);
});

it('a mark keeps other annotations', () => {
  const noted = { ...role('r'), metadata: { name: 'r', annotations: { a: 'b' } } };
  expect(isMarked(noted)).toBe(false);
  expect(isMarked(withMark(noted, 'p 1'))).toBe(true);
  expect(withMark(withMark(noted, 'p 1'), undefined)).toEqual(noted);
});

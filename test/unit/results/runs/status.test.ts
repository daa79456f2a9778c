import { describe, expect, it } from 'vitest';
import { aliveFromJson, isActive, noteFromJson, noteToJson, RUN_STATES } from '../../../../src/results/runs/status.ts';
import { changed } from '../rows/changed-fields.ts';

// Each field of a note that this version cannot have written makes it invalid: whoever can write to the store can write anything.

describe('a note of a query', () => {
  const NOTE = {
    version: 1,
    instance: 'process 1',
    status: {
      requestId: 'r1',
      brokerId: 'Broker_a',
      owner: 'srn2:user#alice@example.com',
      tables: ['orders'],
      state: 'failed',
      submissionTimeMs: 1,
      rowCount: 0,
      bytes: 0,
    },
  };
  const MORE = {
    ...NOTE,
    status: {
      ...NOTE.status,
      sql: 'SELECT 1',
      startTimeMs: 2,
      endTimeMs: 3,
      expirationTimeMs: 4,
      error: { status: 500, message: 'no' },
      cancelRequested: true,
      warnings: ['x'],
    },
  };

  it.each([NOTE, MORE, ...RUN_STATES.map((state) => changed(NOTE, 'status.state', state))])('can be %j', (note) => {
    expect(noteFromJson(noteToJson(note as never))).toEqual(note);
  });

  const INVALID: readonly (readonly [path: string, value: unknown])[] = [
    ['version', 2],
    ['version', undefined],
    ['instance', 1],
    ['instance', undefined],
    ...[undefined, null, 1, 'x', []].map((value) => ['status', value] as const),
    ...['requestId', 'brokerId', 'owner'].flatMap((name) =>
      [undefined, 1].map((value) => [`status.${name}`, value] as const),
    ),
    ...['submissionTimeMs', 'rowCount', 'bytes'].flatMap((name) =>
      [undefined, 1.5, '1'].map((value) => [`status.${name}`, value] as const),
    ),
    ...['startTimeMs', 'endTimeMs', 'expirationTimeMs'].flatMap((name) =>
      [null, 1.5, '1'].map((value) => [`status.${name}`, value] as const),
    ),
    ['status.tables', undefined],
    ['status.tables', 'x'],
    ['status.tables', ['x', 1]],
    ['status.state', 'lost'],
    ['status.sql', 1],
    ['status.cancelRequested', 1],
    ['status.warnings', 'x'],
    ['status.warnings', null],
    ['status.warnings', [1]],
    ['status.error', null],
    ['status.error', { status: 500 }],
    ['status.error', { message: 'x' }],
    ['status.error', { status: '500', message: 'x' }],
  ];
  it.each(INVALID)('with the %s %j is none', (path, value) => {
    expect(noteFromJson(JSON.stringify(changed(MORE, path, value)))).toBeUndefined();
  });

  it.each(['', '{', 'null', '5', '"x"', '{}'])('is not %j', (json) => {
    expect(noteFromJson(json)).toBeUndefined();
    expect(aliveFromJson(json)).toBeUndefined();
  });

  it('is about a query that has not ended in three of the states', () => {
    expect(RUN_STATES.filter((state) => isActive({ state }))).toEqual(['queued', 'running', 'storing']);
  });

  it('of a process names it and the time', () => {
    expect(aliveFromJson('{"instance":"a","atMs":5,"more":1}')).toEqual({ instance: 'a', atMs: 5 });
    for (const json of ['{"instance":"a"}', '{"atMs":5}', '{"instance":1,"atMs":5}', '{"instance":"a","atMs":"5"}'])
      expect(aliveFromJson(json)).toBeUndefined();
  });
});

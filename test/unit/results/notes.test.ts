import { expect, it } from 'vitest';
import { NOTE_KEPT_MS, NOTE_KINDS, noteName, noteOf } from '../../../src/results/notes.ts';

const ID = '00000000-000000000000000000000000000001';

it.each(NOTE_KINDS)('the name of a note has its id and its kind: %s', (kind) => {
  const name = noteName(ID, kind);
  expect(name).toBe(`${ID}.${kind}`);
  expect(noteOf(name)).toEqual({ requestId: ID, kind });
});

it.each(['run', 'cancel', ID, `${ID}.json`, `${ID}.run.tmp`, `${ID}.`, `${ID}-run`, ''])(
  'another name is none of a note: `%s`',
  (name) => {
    expect(noteOf(name)).toBeUndefined();
  },
);

it('an id may be empty, which the stores then leave out', () => {
  expect(noteOf('.run')).toEqual({ requestId: '', kind: 'run' });
});

it('notes are kept for 49 hours: longer than a query and the state of its failure together', () => {
  expect(NOTE_KEPT_MS).toBe(49 * 60 * 60 * 1000);
});

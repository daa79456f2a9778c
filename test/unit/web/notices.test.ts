import { describe, expect, it } from 'vitest';
import { warningsOf } from '../../../web/src/lib/notices.ts';

describe('the warnings of a response', () => {
  it.each([
    [{ name: 'a', warnings: ['the table `b` does not exist'] }, ['the table `b` does not exist']],
    [{ name: 'a' }, []],
    [{ warnings: 'none' }, []],
    [{ warnings: ['one', 2] }, ['one']],
    [[{ warnings: ['of an entry'] }], []],
    [undefined, []],
    [null, []],
  ])('of %j are %j', (response, warnings) => {
    expect(warningsOf(response)).toEqual(warnings);
  });
});

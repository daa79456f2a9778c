import { describe, expect, it } from 'vitest';
import { damaged, isDamaged, notFound, QueryError, UnusableStoreError } from '../../../src/results/errors.ts';

describe('the error for an unknown result', () => {
  const shown = (requestId: string): string => notFound(requestId).message;

  it('names the id, shortened to 64 characters', () => {
    const rest = '`: never stored, expired, or deleted';
    expect(notFound('abc')).toMatchObject({ name: 'QueryError', code: 'not-found' });
    expect(shown('abc')).toBe(`no query results for \`abc${rest}`);
    expect(shown('x'.repeat(64))).toBe(`no query results for \`${'x'.repeat(64)}${rest}`);
    expect(shown('x'.repeat(65))).toBe(`no query results for \`${'x'.repeat(64)}…${rest}`);
  });
});

describe('a damaged result', () => {
  it('is an error with the reason', () => {
    expect(damaged('its index is too short')).toMatchObject({
      code: 'damaged',
      message: 'the stored result is damaged: its index is too short. Run the query again',
    });
  });

  it('differs from all other errors', () => {
    expect(isDamaged(damaged('x'))).toBe(true);
    for (const error of [
      new QueryError('not-found', 'x'),
      new UnusableStoreError('x'),
      new Error('damaged'),
      { code: 'damaged' },
      undefined,
    ])
      expect(isDamaged(error)).toBe(false);
  });
});

it('an error of a store that cannot be used has its cause', () => {
  const cause = new Error('403');
  expect(new UnusableStoreError('no right', { cause })).toMatchObject({
    name: 'UnusableStoreError',
    code: 'store-unavailable',
    message: 'no right',
    cause,
  });
});

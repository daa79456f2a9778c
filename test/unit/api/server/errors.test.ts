import { describe, expect, it } from 'vitest';
import { errorBody } from '../../../../src/api/server/errors.ts';

const PLAIN = { timestamp: '1970-01-01T00:00:00.000Z', status: 403, error: 'Forbidden', message: 'no' };

describe('the body of an error', () => {
  it.each(['/query/sql', '/query', '/sql'])('has the statistics that pinotdb reads first, at %s', (path) => {
    const expected = { ...PLAIN, path, numServersQueried: 0, numServersResponded: 0 };
    expect(errorBody(403, 'no', path, 0)).toEqual(expected);
    expect(errorBody(403, 'no', `${path}?doPaginate=true&secret=x`, 0)).toEqual(expected);
  });

  it.each(['/', '/tables', '/query/sqlx', '/query/1/results', '/api/v1/rbac-manager/roles'])(
    'has the five specified fields at %s',
    (path) => {
      expect(errorBody(403, 'no', `${path}?sql=/query/sql`, 0)).toEqual({ ...PLAIN, path });
    },
  );
});

import { expect, it } from 'vitest';
import { judgeSql } from '../../../../src/access/sql/judge.ts';

it.each([
  "SELECT * FROM a WHERE t > TIMESTAMP WITH LOCAL TIME ZONE '2024-01-01 00:00:00'",
  "SELECT * FROM a WHERE t > TIME WITH TIME ZONE '00:00:00', b",
])('a literal with a time zone ends at its text: %s', (sql) => {
  const found = judgeSql(sql);
  // The second text continues after the literal, which no clause allows.
  expect(found.ok && found.tables).toEqual(sql.endsWith('b') ? false : ['a']);
});

it('`QUALIFY` without a condition is an alias', () => {
  const found = judgeSql('SELECT * FROM a QUALIFY');
  expect(found.ok && found.tables).toEqual(['a']);
});

import { describe, expect, it } from 'vitest';
import { emailDomain, foldCase, sameSubject } from '../../../src/access/subjects.ts';
import { SUBJECT_TYPES, type SubjectType } from '../../../src/resources/role-assignment.ts';

/** U+212A, whose Unicode lower case is the ASCII letter `k`. */
const KELVIN = '\u212A';

describe('case of e-mail addresses and domains', () => {
  it('is ignored for ASCII letters', () => {
    expect(foldCase('Ada@Example.COM')).toBe('ada@example.com');
    expect(
      sameSubject({ type: 'user-email', name: 'Ada@example.com' }, { type: 'user-email', name: 'ada@EXAMPLE.com' }),
    ).toBe(true);
  });

  it('is significant for groups and service tokens', () => {
    const same = (type: SubjectType) => sameSubject({ type, name: 'Some.Name' }, { type, name: 'some.name' });
    expect(SUBJECT_TYPES.filter(same)).toEqual(['user-email', 'domain']);
    expect(sameSubject({ type: 'group', name: 'a' }, { type: 'domain', name: 'a' })).toBe(false);
  });

  it.each([`${KELVIN}im@example.com`, 'İda@example.com', 'Äda@example.com'])(
    'is significant for other letters: %s',
    (name) => {
      expect(foldCase(name)).toBe(name);
      expect(sameSubject({ type: 'user-email', name }, { type: 'user-email', name: name.toLowerCase() })).toBe(false);
    },
  );

  it('does not turn one domain into another', () => {
    expect(emailDomain(`ada@ban${KELVIN}.example`)).toBe(`ban${KELVIN}.example`);
    expect(emailDomain('ada@Bank.Example')).toBe('bank.example');
  });
});

import type { Principal } from '../../principal.ts';
import type { CallerValues } from '../../sql/row-filter.ts';
import { emailDomain, foldCase } from '../../subjects.ts';

/** Values of a caller that a row filter may have, as `${subject.<name>}`. */
export const CALLER_VALUES = ['email', 'user', 'domain', 'groups', 'token'] as const;
export type CallerValue = (typeof CALLER_VALUES)[number];

const MAX_LENGTH = 1024;
/** Characters of all groups: more of them would make every query too long. */
const MAX_GROUPS_LENGTH = 16 * 1024;
/** Control characters other than tab, line feed and carriage return, which no literal may have. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/;

/** Every value with a text in its place: to check a filter, and for callers who are not known. */
export const ANY_CALLER: CallerValues = valuesBy((name) => [name]);

/** The values of a caller; those that it does not have are empty. */
export function callerValues({ kind, id, groups, domain }: Principal): CallerValues {
  const isUser = kind === 'user' && id !== '';
  // An address of which only the domain is verified for another address would not be the caller's own.
  const isEmail = isUser && domain !== undefined && emailDomain(id) === domain;
  const values: Readonly<Record<CallerValue, readonly string[]>> = {
    // Addresses are compared without case elsewhere; the engine compares texts with it.
    email: isEmail ? [foldCase(id)] : [],
    user: isUser ? [id] : [],
    domain: domain === undefined ? [] : [domain],
    groups: groups.reduce((sum, { length }) => sum + length, 0) > MAX_GROUPS_LENGTH ? [] : groups,
    token: kind === 'service-token' ? [id] : [],
  };
  return valuesBy((name) => values[name].filter(isLiteral));
}

/** The values of a caller with several subjects: one that differs between them is none, groups are those of all. */
export function combinedValues(all: readonly CallerValues[]): CallerValues {
  return valuesBy((name) => {
    const distinct = [...new Set(all.flatMap((values) => values[name]?.values ?? []))];
    return name === 'groups' || distinct.length === 1 ? distinct : [];
  });
}

/** The values that the caller has, by their names in filters. */
export function shownValues(values: CallerValues, names: Iterable<string> = CALLER_VALUES): Record<string, string[]> {
  const had = Iterator.from(names).map((name): [string, string[]] => [
    `subject.${name}`,
    [...(values[name]?.values ?? [])],
  ]);
  return Object.fromEntries(had.filter(([, texts]) => texts.length > 0));
}

/** Those that the caller does not have. */
export function missingValues(uses: readonly string[], values: CallerValues): readonly string[] {
  return uses.filter((name) => (values[name]?.values.length ?? 0) === 0);
}

function valuesBy(valuesOf: (name: CallerValue) => readonly string[]): CallerValues {
  return Object.fromEntries(CALLER_VALUES.map((name) => [name, { values: valuesOf(name), isList: name === 'groups' }]));
}

function isLiteral(text: string): boolean {
  return text.length <= MAX_LENGTH && text.isWellFormed() && !CONTROL.test(text);
}

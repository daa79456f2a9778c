import type { Principal } from '../../principal.ts';
import {
  ANY_CLAIM,
  valueNamed,
  type CallerValue,
  type CallerValues,
  type FilterOfCaller,
} from '../../sql/row-filter.ts';
import { emailDomain, foldCase } from '../../subjects.ts';

/** Values that a row filter may have for each caller, as `${subject.<name>}`. */
const SUBJECT_VALUES = ['email', 'user', 'domain', 'groups', 'token'] as const;
type SubjectValue = (typeof SUBJECT_VALUES)[number];

const MAX_LENGTH = 1024;
/** Characters of a list: more of them would make every query too long. */
const MAX_LIST_LENGTH = 16 * 1024;
const MAX_ENTRIES = 1000;
/** Control characters other than tab, line feed and carriage return, which no literal may have. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/;

/** Every value with a text in its place: to check a filter, and for callers who are not known. */
export const ANY_CALLER: CallerValues = {
  ...valuesBy((name) => [name]),
  [ANY_CLAIM]: { values: ['claim'], isList: false },
};

/** The values of a caller; those that it does not have are empty. */
export function callerValues({ kind, id, groups, domain, claims = {} }: Principal): CallerValues {
  const isUser = kind === 'user' && id !== '';
  // An address of which only the domain is verified for another address would not be the caller's own.
  const isEmail = isUser && domain !== undefined && emailDomain(id) === domain;
  const values: Readonly<Record<SubjectValue, readonly string[]>> = {
    // Addresses are compared without case elsewhere; the engine compares texts with it.
    email: isEmail ? [foldCase(id)] : [],
    user: isUser ? [id] : [],
    domain: domain === undefined ? [] : [domain],
    groups: groups.reduce((sum, { length }) => sum + length, 0) > MAX_LIST_LENGTH ? [] : groups,
    token: kind === 'service-token' ? [id] : [],
  };
  return { ...valuesBy((name) => values[name].filter(isLiteral)), ...claimValues(claims) };
}

/** Claims as values of a caller. */
export function claimValues(claims: Readonly<Record<string, CallerValue>>): CallerValues {
  return Object.fromEntries(Object.entries(claims).map(([name, value]) => [`claims.${name}`, value]));
}

/**
 * A claim as a value for conditions.
 * @returns undefined for one that is absent, empty, or neither a text, a number, a boolean, nor a list of texts or of numbers: a part of it, or an empty
 * value, would mean other rows than the claim
 */
export function claimValue(claim: unknown): CallerValue | undefined {
  if (!Array.isArray(claim)) return isScalar(claim) ? { values: [claim], isList: false } : undefined;
  const values = claim.filter(isScalar);
  const length = values.reduce<number>((sum, value) => sum + String(value).length, 0);
  const hasForm = values.every((value) => typeof value === typeof values[0] && typeof value !== 'boolean');
  if (values.length < claim.length || values.length > MAX_ENTRIES || length > MAX_LIST_LENGTH) return undefined;
  return values.length > 0 && hasForm ? { values, isList: true } : undefined;
}

function isScalar(value: unknown): value is string | number | boolean {
  if (typeof value === 'string') return value !== '' && isLiteral(value);
  if (typeof value !== 'number') return typeof value === 'boolean';
  // JSON has lost digits of a larger number: it would be that of somebody else. Exponents are literals of another type.
  return Math.abs(value) <= Number.MAX_SAFE_INTEGER && /^-?[\d.]+$/.test(String(value));
}

const CLAIM = 'subject.claims.';

/** The values of a caller who is tried; claims are texts. @param given by name such as `subject.email`, as `shownValues` returns them */
export function triedValues(given: Readonly<Record<string, readonly string[]>>): CallerValues {
  const claims = Object.entries(given)
    .filter(([name]) => name.startsWith(CLAIM))
    .map(([name, values]) => [name.slice(CLAIM.length), claimValue(values.length === 1 ? values[0] : values)] as const)
    .filter((claim): claim is [string, CallerValue] => claim[1] !== undefined);
  return {
    ...valuesBy((name) => {
      const values = (given[`subject.${name}`] ?? []).filter(isLiteral);
      return name === 'groups' ? values : values.slice(0, 1);
    }),
    ...claimValues(Object.fromEntries(claims)),
  };
}

/** The values of a caller with several subjects: one that differs between them is none, groups are those of all. */
export function combinedValues(all: readonly CallerValues[]): CallerValues {
  return valuesBy((name) => {
    const distinct = [...new Set(all.flatMap((values) => (values[name]?.values ?? []).map(String)))];
    return name === 'groups' || distinct.length === 1 ? distinct : [];
  });
}

/** The values that the caller has, by their names in filters. */
export function shownValues(
  values: CallerValues,
  names: Iterable<string> = Object.keys(values),
): Record<string, string[]> {
  const had = Iterator.from(names).map((name): [string, string[]] => [
    `subject.${name}`,
    (valueNamed(values, name)?.values ?? []).map(String),
  ]);
  return Object.fromEntries(had.filter(([, texts]) => texts.length > 0));
}

/** Whether the caller has all values that a filter uses, and none of them as a list where a list is not possible. */
export function hasValues({ uses, single }: Pick<FilterOfCaller, 'uses' | 'single'>, values: CallerValues): boolean {
  const found = uses.map((name) => ({ name, value: valueNamed(values, name) }));
  return found.every(
    ({ name, value }) => value !== undefined && value.values.length > 0 && !(value.isList && single.includes(name)),
  );
}

function valuesBy(valuesOf: (name: SubjectValue) => readonly string[]): CallerValues {
  return Object.fromEntries(
    SUBJECT_VALUES.map((name) => [name, { values: valuesOf(name), isList: name === 'groups' }]),
  );
}

function isLiteral(text: string): boolean {
  return text.length <= MAX_LENGTH && text.isWellFormed() && !CONTROL.test(text);
}

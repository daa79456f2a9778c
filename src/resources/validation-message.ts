import type { ErrorObject } from 'ajv';
import { NAME_PATTERN } from './meta.ts';
import { nearest } from './nearest.ts';
import { ACTION_PATTERN, SRN_PATTERN } from './policy.ts';

/** One thing that is wrong with an object. */
export interface ValidationError {
  /** Where: `spec.statements[0].effect`; `` for the object as a whole. */
  readonly path: string;
  /** What is wrong there and what would be right, without the path. */
  readonly message: string;
}

/** What a pattern means, in words: nobody should have to read a regular expression to mend a manifest. */
const PATTERN_MEANINGS: Readonly<Record<string, string>> = {
  [NAME_PATTERN]:
    'may hold only lower-case letters, digits, `-` and `.`, and begins and ends with a letter or digit, such as `data-engineers`',
  [ACTION_PATTERN]: 'must be an action name of letters and `*`, such as `Query` or `Get*`',
  [SRN_PATTERN]: 'must be `*` or a resource name such as `srn2:table#events`',
  '^\\S(.*\\S)?$': 'may not begin or end with a space, nor hold a line break',
  '^([0-9]+(ms|s|m|h|d))+$': 'must be a duration such as `20m` or `1h30m`',
  '^[A-Z0-9_]+$': 'must be the name of a check, such as `SEGMENT_COUNT_CHECK`',
};

const WORDS: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

/** Says a keyword's failure in words. @param quiet true where values must not be repeated, as those of a Secret. */
export function toValidationError(error: ErrorObject, quiet: boolean): ValidationError {
  const path = pathOf(error.instancePath);
  const params = error.params as Record<string, unknown>;
  if (error.keyword === 'required') {
    const field = String(params['missingProperty']);
    const description = childDescription(error, field);
    return { path: join(path, field), message: `is missing${description ? `: ${description}` : ''}` };
  }
  if (error.keyword === 'additionalProperties') {
    return unknownField(path, String(params['additionalProperty']), error);
  }
  return { path, message: sentence(error, params, quiet) };
}

interface Failure {
  readonly error: ErrorObject;
  readonly params: Readonly<Record<string, unknown>>;
  /** The value in backticks, or words for it where it may not be repeated. */
  readonly shown: string;
  /** What the keyword allows, where it is a number. */
  readonly limit: number;
}

const SENTENCES: Readonly<Record<string, (failure: Failure) => string>> = {
  enum: ({ shown, params }) => `${shown} is not one of ${(params['allowedValues'] as unknown[]).join(', ')}`,
  type: ({ shown, params, error }) =>
    `${shown} is ${kindOf(error.data)}, but must be ${WORDS[String(params['type'])] ?? String(params['type'])}`,
  pattern: ({ shown, params }) =>
    `${shown} ${PATTERN_MEANINGS[String(params['pattern'])] ?? `must match ${String(params['pattern'])}`}`,
  format: ({ shown, params }) =>
    params['format'] === 'date-time'
      ? `${shown} is not an RFC 3339 time with a zone, such as \`2030-12-31T23:59:59Z\``
      : `${shown} is not of the format ${String(params['format'])}`,
  minLength: ({ shown, limit }) =>
    limit === 1 ? 'may not be empty' : `${shown} is too short: at least ${limit} characters are needed`,
  maxLength: ({ error, limit }) =>
    `is too long: at most ${limit} characters are allowed, these are ${Array.from(String(error.data)).length}`,
  minItems: ({ limit }) => (limit === 1 ? 'needs at least one entry' : `needs at least ${limit} entries`),
  maxItems: ({ error, limit }) => `has ${(error.data as unknown[]).length} entries, at most ${limit} are allowed`,
  maxProperties: ({ error, limit }) =>
    `has ${Object.keys(error.data as object).length} entries, at most ${limit} are allowed`,
  minimum: ({ shown, limit }) => `${shown} is too small: the least is ${limit}`,
  maximum: ({ shown, limit }) => `${shown} is too large: the most is ${limit}`,
  uniqueItems: ({ error, params }) =>
    `holds ${quote((error.data as unknown[])[Number(params['i'])])} twice: every entry may stand once`,
  'x-kubernetes-list-map-keys': ({ error }) => error.message ?? 'holds an entry twice',
};

function sentence(error: ErrorObject, params: Record<string, unknown>, quiet: boolean): string {
  const shown = quiet ? 'the value' : quote(error.data);
  const say = SENTENCES[error.keyword];
  return say
    ? say({ error, params, shown, limit: Number(params['limit']) })
    : `${shown} is not valid: ${error.message ?? error.keyword}`;
}

function unknownField(path: string, field: string, error: ErrorObject): ValidationError {
  const known = Object.keys((error.parentSchema as { properties?: object } | undefined)?.properties ?? {});
  const meant = nearest(field, known);
  const hint = meant ? `did you mean \`${meant}\`?` : `known fields are ${known.join(', ')}`;
  return { path: join(path, field), message: `is not a known field; ${hint}` };
}

function childDescription(error: ErrorObject, field: string): string | undefined {
  const parent = error.parentSchema as { properties?: Record<string, { description?: string }> } | undefined;
  return parent?.properties?.[field]?.description;
}

/** `/spec/statements/0/effect` → `spec.statements[0].effect`. */
function pathOf(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce(join, '');
}

function join(path: string, part: string): string {
  if (/^\d+$/.test(part)) return `${path}[${part}]`;
  const plain = /^[\w-]+$/.test(part);
  if (!plain) return `${path}[${quote(part)}]`;
  return path ? `${path}.${part}` : part;
}

/** A value in backticks, cut where it is long. */
export function quote(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined');
  return text.length > 80 ? `\`${text.slice(0, 77)}…\`` : `\`${text}\``;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return WORDS[typeof value] ?? typeof value;
}

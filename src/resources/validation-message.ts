import type { ErrorObject } from 'ajv';
import { DURATION_EXAMPLE, DURATION_PATTERN } from '../platform/duration.ts';
import { SCHEDULE_PATTERN } from './cluster-health-report.ts';
import { CHECK_GLOB_PATTERN, ENTITY_GLOB_PATTERN, MUTE_ID_PATTERN } from './health-mute.ts';
import { NAME_PATTERN } from './meta.ts';
import { nearest } from './nearest.ts';
import { ACTION_PATTERN, COLUMN_PATTERN, SRN_PATTERN } from './policy.ts';
import { SECRET_HASH_PATTERN } from './service-token.ts';

/** One error in an object. */
export interface ValidationError {
  /** Path of the field, such as `spec.statements[0].effect`; empty for the object itself. */
  readonly path: string;
  /** What is wrong and what would be right, without the path. */
  readonly message: string;
}

/** Patterns in words: messages of REST contain no regular expression, and those of the kube-apiserver have the words beside it. */
export const PATTERN_MEANINGS: Readonly<Record<string, string>> = {
  [NAME_PATTERN]:
    'must consist of lower-case letters, digits, `-` and `.`, and begin and end with a letter or digit, such as `data-engineers`',
  [ACTION_PATTERN]: 'must be an action name of letters and `*`, such as `Query` or `Get*`',
  [SECRET_HASH_PATTERN]: 'must be `sha256:` and 64 hexadecimal digits',
  [SRN_PATTERN]: 'must be `*` or a resource name such as `srn2:table#events`',
  [COLUMN_PATTERN]: 'must be the name of a column, without its table and without spaces, such as `mail`',
  '^\\S(.*\\S)?$': 'must not begin or end with a space or contain a line break',
  [SCHEDULE_PATTERN]:
    'must be a cron expression of five fields, such as `*/20 * * * *`, or of six with a number of seconds first',
  [DURATION_PATTERN]: `must be ${DURATION_EXAMPLE}`,
  [MUTE_ID_PATTERN]: 'must consist of lower-case letters, digits and `-`, and begin and end with a letter or digit',
  [CHECK_GLOB_PATTERN]: 'must be the name of a check, such as `SEGMENT_COUNT_CHECK`; `*` matches any characters',
  [ENTITY_GLOB_PATTERN]: 'must be the name of an entity in one line, such as `events_OFFLINE` or `events_*`',
  '^[A-Z0-9_]+$': 'must be the name of a check, such as `SEGMENT_COUNT_CHECK`',
};

const WORDS: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

/** Describes the failure of a keyword. @param quiet true when the message must not repeat values, as for a Secret */
export function toValidationError(error: ErrorObject, quiet: boolean): ValidationError {
  const path = pathOf(error.instancePath);
  const params = error.params as Record<string, unknown>;
  if (error.keyword === 'required') {
    const field = String(params['missingProperty']);
    const description = childDescription(error, field);
    return { path: join(path, field), message: `is required${description ? `: ${description}` : ''}` };
  }
  if (error.keyword === 'additionalProperties') {
    return unknownField(path, String(params['additionalProperty']), error);
  }
  return { path, message: sentence(error, params, quiet) };
}

interface Failure {
  readonly error: ErrorObject;
  readonly params: Readonly<Record<string, unknown>>;
  /** The value in backticks, or `the value` when it must not be repeated. */
  readonly shown: string;
  /** The limit of the keyword, where it is a number. */
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
      : `${shown} does not have the format ${String(params['format'])}`,
  minLength: ({ shown, limit }) =>
    limit === 1 ? 'must not be empty' : `${shown} is too short: the minimum is ${limit} characters`,
  maxLength: ({ error, limit }) =>
    `is too long: the maximum is ${limit} characters, it has ${Array.from(String(error.data)).length}`,
  minItems: ({ limit }) => (limit === 1 ? 'must have at least one entry' : `must have at least ${limit} entries`),
  maxItems: ({ error, limit }) =>
    `has too many entries: the maximum is ${limit}, it has ${(error.data as unknown[]).length}`,
  maxProperties: ({ error, limit }) =>
    `has too many entries: the maximum is ${limit}, it has ${Object.keys(error.data as object).length}`,
  minimum: ({ shown, limit }) => `${shown} is too small: the minimum is ${limit}`,
  maximum: ({ shown, limit }) => `${shown} is too large: the maximum is ${limit}`,
  uniqueItems: ({ error, params }) =>
    `contains ${quote((error.data as unknown[])[Number(params['i'])])} twice: entries must be unique`,
  'x-kubernetes-list-map-keys': ({ error }) => error.message ?? 'contains an entry twice',
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
  return { path: join(path, field), message: `unknown field; ${hint}` };
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

const MAX_SHOWN = 80;

/** A value in backticks, cut where it is long; no more of it is printed than is shown. */
export function quote(value: unknown): string {
  const text = typeof value === 'string' ? value : beginningOf(value, MAX_SHOWN + 1);
  return text.length > MAX_SHOWN ? `\`${text.slice(0, MAX_SHOWN - 3)}…\`` : `\`${text}\``;
}

/** At least the first `length` characters of the value as JSON, or all of them. */
function beginningOf(value: unknown, length: number): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, length));
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined';
  const isList = Array.isArray(value);
  let text = isList ? '[' : '{';
  let separator = '';
  for (const key in value) {
    if (text.length >= length) return text;
    const field = isList ? '' : `${JSON.stringify(key.slice(0, length))}:`;
    const inner: unknown = Reflect.get(value, key);
    text += separator + field + beginningOf(inner, length - text.length);
    separator = ',';
  }
  return text + (isList ? ']' : '}');
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return WORDS[typeof value] ?? typeof value;
}

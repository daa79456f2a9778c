import { DECIDING_PARAMETERS } from '../../pinot/call-actions.ts';
import { tableNames } from '../../access/sql/table-names.ts';
import { HttpError } from '../server/errors.ts';
import type { Target } from '../server/request/target.ts';

/**
 * Serializes the parsed path and query string for the controller. Jersey decodes each segment and parameter to exactly the text that was authorized:
 * spaces are `%20` (never `+`), and all separators (`/ ; ? & = #`) are percent-encoded.
 * @throws {HttpError} 400 for what the engine could interpret differently
 */
export function canonicalPath({ segments, parameters }: Target): string {
  requireDecodedOnce(segments);
  const path = `/${segments.map(encodeURIComponent).join('/')}`;
  const printed = [...singleParameters(parameters)].map(
    ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
  );
  return printed.length === 0 ? path : `${path}?${printed.join('&')}`;
}

/** The engine decodes segment names a second time: `%252F` would become `/`. */
function requireDecodedOnce(segments: readonly string[]): void {
  const encoded = segments.find((segment) => segment.includes('%'));
  if (encoded !== undefined) throw ambiguous(`the path segment \`${encoded}\` still contains a \`%\` after decoding`);
}

/** Parameters that the engine reads as lists. All others must not be repeated. */
const REPEATABLE: ReadonlySet<string> = new Set([
  'columns',
  'instanceNames',
  'partitionId',
  'segmentNames',
  'segments',
  'tables',
]);

// eslint-disable-next-line no-control-regex
const UNSAFE_NAME = /[\u0000-\u001f\u007f\ufffd]/;

function* singleParameters(parameters: URLSearchParams): Generator<readonly [string, string]> {
  const seen = new Set<string>();
  for (const [name, value] of parameters) {
    // Invalid UTF-8 was decoded to U+FFFD; other decoders may produce other characters.
    if (UNSAFE_NAME.test(name) || value.includes('\ufffd') || value.includes('\0')) {
      throw ambiguous('a query parameter is not percent-encoded UTF-8, or contains control characters');
    }
    if (seen.has(name) && !REPEATABLE.has(name)) throw ambiguous(`the parameter \`${name}\` is given more than once`);
    seen.add(name);
    requireSpelling(name);
    yield [name, value];
  }
}

const DECIDING_BY_LOWER: ReadonlyMap<string, string> = new Map(
  [...DECIDING_PARAMETERS].map((name) => [name.toLowerCase(), name]),
);

function requireSpelling(name: string): void {
  const deciding = DECIDING_BY_LOWER.get(name.toLowerCase());
  if (deciding !== undefined && deciding !== name) {
    throw ambiguous(`the parameter \`${name}\` must be spelled \`${deciding}\``);
  }
}

const SEPARATORS = /[\s/\\;,%\p{Cc}\p{Cf}\ufffd]/u;
const TYPE_SUFFIX = /_(?:OFFLINE|REALTIME)$/i;
const MAX_NAME_LENGTH = 512;

/**
 * The tables that a name in a path, a parameter or a body can refer to.
 * @param database value of the `Database` header
 * @throws {HttpError} 400 for invalid names, and for names with two type suffixes, of which the engine removes one or both
 */
export function judgedTableNames(name: string, database: string | undefined): readonly string[] {
  const names = SEPARATORS.test(name) || name.length > MAX_NAME_LENGTH ? undefined : tableNames(name, database);
  if (names === undefined) throw new HttpError(400, `invalid table name \`${name.slice(0, MAX_NAME_LENGTH)}\``);
  if (TYPE_SUFFIX.test(name.replace(TYPE_SUFFIX, ''))) {
    throw new HttpError(400, `invalid table name \`${name}\`: it ends with two type suffixes`);
  }
  return names;
}

function ambiguous(why: string): HttpError {
  return new HttpError(400, `the URL is rejected because servers could interpret it differently: ${why}`);
}

import { DECIDING_PARAMETERS, TABLE_PARAMETERS, type EngineCall } from '../../pinot/call-actions.ts';
import { canonicalName } from '../engine/table-names.ts';
import { HttpError } from '../server/errors.ts';
import type { RequestTarget } from '../server/request/target.ts';

/**
 * Serializes the parsed path and query string for the controller. Jersey decodes each segment and parameter to exactly the text that was authorized:
 * spaces are `%20` (never `+`), and all separators (`/ ; ? & = #`) are percent-encoded. Names of tables get their database, because
 * some calls ignore the `Database` header.
 * @param database value of the `Database` header
 * @throws {HttpError} 400 for what the engine could interpret differently
 */
export function canonicalPath(
  { segments, parameters }: RequestTarget,
  { tableSegments, filtered }: Pick<EngineCall, 'tableSegments' | 'filtered'>,
  database: string | undefined,
): string {
  requireDecodedOnce(segments);
  const named = segments.map((segment, index) =>
    tableSegments.includes(index) ? canonicalName(segment, database) : segment,
  );
  const path = `/${named.map(encodeURIComponent).join('/')}`;
  const printed = [...singleParameters(parameters)].map(([name, value]) => {
    const isTable = !filtered && value !== '' && (TABLE_PARAMETERS as readonly string[]).includes(name);
    return `${encodeURIComponent(name)}=${encodeURIComponent(isTable ? canonicalName(value, database) : value)}`;
  });
  return printed.length === 0 ? path : `${path}?${printed.join('&')}`;
}

/**
 * Like `canonicalPath`, for a call whose body must name the table exactly as the path does. Both get the database of the header in the engine.
 * @param named table in the body
 * @throws {HttpError} 400 if the body names another table than the path
 */
export function pathOfBody(
  target: RequestTarget,
  call: Pick<EngineCall, 'tableSegments' | 'filtered'>,
  named: string,
  database: string | undefined,
): string {
  const wanted = canonicalName(named, database);
  const segments = target.segments.map((segment, index) => {
    if (!call.tableSegments.includes(index)) return segment;
    if (canonicalName(segment, database) === wanted) return named;
    throw new HttpError(400, `the path names the table \`${segment}\`, but \`tableName\` in the body is \`${named}\``);
  });
  return canonicalPath({ ...target, segments }, { ...call, tableSegments: [] }, database);
}

/** The engine decodes segment names a second time: `%252F` would become `/`. */
function requireDecodedOnce(segments: readonly string[]): void {
  const encoded = segments.find((segment) => segment.includes('%'));
  if (encoded !== undefined) throw ambiguous(`the path segment \`${encoded}\` still contains a \`%\` after decoding`);
}

/** Parameters that the engine reads as lists. All others must have one value. */
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
    if (seen.has(name) && !REPEATABLE.has(name))
      throw ambiguous(`the parameter \`${name}\` is given with different values`);
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

function ambiguous(why: string): HttpError {
  return new HttpError(400, `the URL is rejected because servers could interpret it differently: ${why}`);
}

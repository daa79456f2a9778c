import { HttpError } from '../errors.ts';

/** A parsed request URL. Parsing is strict, so that the engine cannot interpret it differently. */
export interface RequestTarget {
  /** Decoded path segments; none is empty. */
  readonly segments: readonly string[];
  /** Query parameters, in order. */
  readonly parameters: URLSearchParams;
  /** The URL as it was read: without a slash at the end of its path, and with equal parameters once. */
  readonly url: string;
}

const PLAIN_PATH = /^\/(?:[A-Za-z0-9._~!$&'()*+,=:@|-]|%[0-9A-Fa-f]{2}|\/)*$/;
// eslint-disable-next-line no-control-regex
const UNSAFE_IN_SEGMENT = /[/\\;\u0000-\u001f\u007f]/;
const PLAIN_QUERY = /^(?:[^%]|%[0-9A-Fa-f]{2})*$/;
/** Letters, digits, `-`, `.`, `_` and `~` (RFC 3986 section 2.3), percent-encoded. */
const ENCODED_UNRESERVED = /%(?:2[DE]|3\d|4[1-9A-F]|5[\dAF]|6[1-9A-F]|7[\dAE])/i;
const PLAIN_NAME = /^[A-Za-z0-9._~-]+$/;

/**
 * Parses path and query string. It rejects what servers interpret differently: encoded slashes, `.` and `..` segments, empty segments, path
 * parameters after `;`, invalid or overlong encodings, and percent-encoding of characters that need none.
 * @throws {HttpError} 400
 */
export function readTarget(url: string): RequestTarget {
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  const query = mark < 0 ? '' : url.slice(mark + 1);
  if (!PLAIN_PATH.test(path))
    throw refused('the path contains characters that must be percent-encoded, or is not a path');
  if (ENCODED_UNRESERVED.test(path)) {
    throw refused('the path percent-encodes a letter, a digit, or one of `-._~`: write it as it is');
  }
  // The engine ignores a trailing slash.
  const hasSlash = path.length > 1 && path.endsWith('/');
  const plain = hasSlash ? path.slice(0, -1) : path;
  const segments = plain === '/' || plain === '' ? [] : plain.slice(1).split('/').map(decodeSegment);
  const written = readParameters(query);
  const parameters = distinct(written);
  const isSame = parameters === written;
  const rest = isSame ? url.slice(path.length) : `?${parameters.toString()}`;
  return { segments, parameters, url: isSame && !hasSlash ? url : plain + rest };
}

/** Parameters that repeat another one with its value have no further meaning. */
function distinct(parameters: URLSearchParams): URLSearchParams {
  if (parameters.size < 2) return parameters;
  const pairs = new Map([...parameters].map((pair) => [pair.join('='), pair]));
  return pairs.size === parameters.size ? parameters : new URLSearchParams([...pairs.values()]);
}

function readParameters(query: string): URLSearchParams {
  if (query === '') return new URLSearchParams();
  if (!PLAIN_QUERY.test(query)) throw refused('the query string is not validly percent-encoded');
  for (const part of query.split('&')) {
    const name = part.split('=', 1)[0] ?? '';
    if (part !== '' && !PLAIN_NAME.test(name)) {
      throw refused(
        `the parameter name \`${name.slice(0, 64)}\` may only contain letters, digits and \`-._~\`, unencoded`,
      );
    }
  }
  try {
    decodeURIComponent(query);
  } catch {
    throw refused('the query string is not percent-encoded UTF-8');
  }
  return new URLSearchParams(query);
}

/** Serializes the URL in canonical form: the same segments and parameters, with uniform encoding. */
export function printTarget({ segments, parameters }: Pick<RequestTarget, 'segments' | 'parameters'>): string {
  const path = `/${segments.map(encodeURIComponent).join('/')}`;
  return parameters.size > 0 ? `${path}?${parameters.toString()}` : path;
}

function decodeSegment(part: string): string {
  if (part === '') throw refused('the path contains an empty segment');
  let segment: string;
  try {
    segment = decodeURIComponent(part);
  } catch {
    throw refused('the path is not percent-encoded UTF-8');
  }
  if (segment === '.' || segment === '..' || UNSAFE_IN_SEGMENT.test(segment)) {
    throw refused('a segment of the path is `.` or `..`, or contains an encoded `/`, `\\`, `;` or control character');
  }
  return segment;
}

/** The value of a parameter. @throws {HttpError} 400 for different values: servers differ in which one they use */
export function singleParameter(parameters: URLSearchParams, name: string): string | undefined {
  const values = parameters.getAll(name);
  if (values.length > 1) throw refused(`the parameter \`${name}\` is given with ${values.length} different values`);
  return values[0];
}

/** The values of all parameters. @throws {HttpError} 400 for different values of one: servers differ in which one they use */
export function singleParameters(parameters: URLSearchParams): Record<string, string> {
  if (parameters.size === 0) return {};
  const values = new Map<string, string>();
  for (const [name, value] of parameters) {
    if (values.has(name)) throw refused(`the parameter \`${name}\` is given with different values`);
    values.set(name, value);
  }
  return Object.fromEntries(values);
}

function refused(why: string): HttpError {
  return new HttpError(400, `the URL is rejected because servers could interpret it differently: ${why}`);
}

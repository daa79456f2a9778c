import { HttpError } from '../errors.ts';

/** Where a request goes, read so strictly that the engine cannot read it otherwise. */
export interface Target {
  /** Of the path, decoded; none is empty. */
  readonly segments: readonly string[];
  /** Parameters of the query string, in order. */
  readonly parameters: URLSearchParams;
}

const PLAIN_PATH = /^\/(?:[A-Za-z0-9._~!$&'()*+,=:@|-]|%[0-9A-Fa-f]{2}|\/)*$/;
// eslint-disable-next-line no-control-regex
const UNSAFE_IN_SEGMENT = /[/\\;\u0000-\u001f\u007f]/;
const PLAIN_QUERY = /^(?:[^%]|%[0-9A-Fa-f]{2})*$/;

/**
 * Reads path and query string. What servers are known to read in different ways is refused: encoded slashes, dots that go up, empty segments,
 * path parameters after `;`, broken or overlong encodings.
 * @throws {HttpError} 400
 */
export function readTarget(url: string): Target {
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  const query = mark < 0 ? '' : url.slice(mark + 1);
  if (!PLAIN_PATH.test(path)) throw refused('the path holds characters that must be percent-encoded, or is not a path');
  if (!PLAIN_QUERY.test(query)) throw refused('the query string is not percent-encoded as it should be');
  // A slash at the end means nothing to the engine.
  const parts = (path.endsWith('/') ? path.slice(1, -1) : path.slice(1)).split('/');
  const segments = parts.length === 1 && parts[0] === '' ? [] : parts.map(decodeSegment);
  return { segments, parameters: new URLSearchParams(query) };
}

function decodeSegment(part: string): string {
  if (part === '') throw refused('the path holds an empty segment');
  let segment: string;
  try {
    segment = decodeURIComponent(part);
  } catch {
    throw refused('the path is not percent-encoded UTF-8');
  }
  if (segment === '.' || segment === '..' || UNSAFE_IN_SEGMENT.test(segment)) {
    throw refused('a segment of the path is `.` or `..`, or holds an encoded `/`, `\\`, `;` or control character');
  }
  return segment;
}

/** The one value of a parameter. @throws {HttpError} 400 where it is given twice: which one counts is not for sure */
export function singleParameter(parameters: URLSearchParams, name: string): string | undefined {
  const values = parameters.getAll(name);
  if (values.length > 1) throw refused(`the parameter \`${name}\` is given ${values.length} times`);
  return values[0];
}

function refused(why: string): HttpError {
  return new HttpError(400, `the address is refused, since it could be read in more than one way: ${why}`);
}

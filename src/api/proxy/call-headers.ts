import type { IncomingHttpHeaders } from 'node:http';
import { contentTypeOf, requireUncompressed, requireUtf8 } from '../server/bodies/content-type.ts';
import { HttpError } from '../server/errors.ts';
import { databaseOf } from '../server/request/request-headers.ts';

/** Media types that the controller accepts. */
export const MEDIA_TYPES = [
  'application/json',
  'application/octet-stream',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'text/plain',
] as const;

export interface BodyType {
  readonly media: (typeof MEDIA_TYPES)[number];
  /** The header value for the engine. */
  readonly header: string;
}

/**
 * Parses `Content-Type` and serializes it again: a type from the list above, UTF-8, and no parameter except the boundary of a form.
 * @returns undefined where the header is absent
 * @throws {HttpError} 400, 415
 */
export function bodyType(headers: IncomingHttpHeaders): BodyType | undefined {
  const type = contentTypeOf(headers, MEDIA_TYPES);
  if (type === undefined) return undefined;
  const { media, parameters } = type;
  if (media === 'multipart/form-data') return { media, header: `${media}; boundary=${boundaryOf(parameters)}` };
  requireUtf8(parameters);
  const textual = media === 'application/json' || media === 'text/plain';
  return { media, header: textual ? `${media}; charset=utf-8` : media };
}

/** RFC 2046, section 5.1.1. */
const BOUNDARY = /^boundary=(?:"([\w'()+,\-./:=? ]{0,69}[\w'()+,\-./:=?])"|([\w'+\-.]{1,70}))$/i;

function boundaryOf(parameters: readonly string[]): string {
  const others = parameters.filter((parameter) => !/^charset=[\w"-]+$/i.test(parameter));
  const [, quoted, token] = others.length === 1 ? (BOUNDARY.exec(others[0] as string) ?? []) : [];
  if (token !== undefined) return token;
  if (quoted !== undefined) return `"${quoted}"`;
  throw new HttpError(415, 'a form needs exactly one `boundary` in `Content-Type`, of at most 70 characters');
}

/** Headers of segment uploads. */
const UPLOAD_HEADERS = [
  'upload_type',
  'download_uri',
  'crypter',
  'copy_segment_to_deep_store',
  'refresh_only',
  'pinot-segmentzkmetadatacustommapmodifier',
  'pinot-segment-name',
  'pinot-ingestion-descriptor',
  'if-match',
] as const;

const PRINTABLE = /^[\x20-\x7e]{1,8192}$/;

/**
 * The headers of a controller request: a fixed list with validated values. So `Connection` cannot remove one, and no header can override the
 * method, path or caller. `Pinot-Table-Name` is not included, because the query parameter names the table.
 * @param options.upload whether to include the headers of segment uploads
 * @param options.streamed whether the client's body is streamed, so that its `Content-Length` applies
 * @throws {HttpError} 400, 415
 */
export function callHeaders(
  headers: IncomingHttpHeaders,
  options: { readonly upload: boolean; readonly streamed: boolean },
): Record<string, string> {
  requireUncompressed(headers);
  const sent: Record<string, string> = {};
  const add = (name: string, value: string | undefined) => {
    if (value !== undefined) sent[name] = value;
  };
  add('content-type', bodyType(headers)?.header);
  add('database', databaseOf(headers));
  add('accept', printable(headers, 'accept'));
  add('accept-encoding', printable(headers, 'accept-encoding'));
  if (options.upload) for (const name of UPLOAD_HEADERS) add(name, printable(headers, name));
  if (options.streamed) add('content-length', headers['content-length']);
  return sent;
}

function printable(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  if (value === undefined) return undefined;
  if (typeof value === 'string' && PRINTABLE.test(value)) return value;
  throw new HttpError(400, `the header \`${name}\` must be given once, in printable ASCII`);
}

/** Whether the engine fetches the segment from a URI in a header. The URI could point to the deep store of any table. */
export function fetchesSegment(headers: IncomingHttpHeaders): boolean {
  const type = headers['upload_type'];
  return headers['download_uri'] !== undefined || (type !== undefined && type !== 'SEGMENT');
}

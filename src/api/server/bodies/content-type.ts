import type { IncomingHttpHeaders } from 'node:http';
import { HttpError } from '../errors.ts';

export interface ContentType<Media extends string> {
  readonly media: Media;
  /** As sent, trimmed. */
  readonly parameters: readonly string[];
}

/**
 * Parses `Content-Type`.
 * @param known the media types that are supported, in lower case
 * @returns undefined where the header is absent
 * @throws {HttpError} 415 for another media type
 */
export function contentTypeOf<Media extends string>(
  headers: IncomingHttpHeaders,
  known: readonly Media[],
): ContentType<Media> | undefined {
  const value = headers['content-type'];
  if (value === undefined || value.trim() === '') return undefined;
  const [name = '', ...parameters] = value.split(';').map((part) => part.trim());
  const media = known.find((one) => one === name.toLowerCase());
  if (media === undefined) {
    throw new HttpError(
      415,
      `the content type \`${name.slice(0, 100)}\` is not supported here: use one of \`${known.join('`, `')}\``,
    );
  }
  return { media, parameters: parameters.filter((parameter) => parameter !== '') };
}

/**
 * Rejects all parameters except one `charset=utf-8`: with others the engine could decode the body differently.
 * @throws {HttpError} 400
 */
export function requireUtf8(parameters: readonly string[]): void {
  const wrong =
    parameters.length > 1 ? parameters[1] : parameters.find((one) => !/^charset=(?:utf-?8|"utf-?8")$/i.test(one));
  if (wrong === undefined) return;
  throw new HttpError(
    400,
    `the \`Content-Type\` parameter \`${wrong.slice(0, 100)}\` is not allowed: bodies are in UTF-8, send none or one \`charset=utf-8\``,
  );
}

/** @throws {HttpError} 415 for a compressed body */
export function requireUncompressed(headers: IncomingHttpHeaders): void {
  const encoding = headers['content-encoding'];
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return;
  throw new HttpError(415, `unsupported \`Content-Encoding: ${encoding.slice(0, 100)}\`: send the body uncompressed`);
}

import { isForwarded } from '../engine/headers.ts';

/** What the short way needs of a request's headers, found in one pass over them. */
export interface LaneHead {
  readonly authorization: string;
  /** `x-request-id` as it was sent. */
  readonly requestId: string | undefined;
  /** What goes on to the engine, names and values in turn. */
  readonly forwarded: readonly string[];
}

/** What any of these asks for is looked at elsewhere; some servers let the last three stand for another method than the one that is checked. */
const SPECIAL = new Set([
  'content-encoding',
  'database',
  'forward_table',
  'forward_host',
  'x-http-method-override',
  'x-http-method',
  'x-method-override',
]);
/** Each of these may be there once. */
const LOOKED_AT = ['authorization', 'content-type', 'x-request-id'] as const;
const PLACES = new Map<string, number>(LOOKED_AT.map((name, place) => [name, place]));
const PLAIN_TYPE = /^application\/json(?:; ?charset=utf-8)?$/i;

/** Most requests of a connection have the headers of the one before. */
const known = new WeakMap<readonly string[], { readonly head: LaneHead | undefined }>();

/**
 * @param rawHeaders names and values in turn, as they came
 * @returns undefined where they are in any way unusual: one of them is missing, is there twice, or needs more than a look
 */
export function readLaneHead(rawHeaders: readonly string[]): LaneHead | undefined {
  let read = known.get(rawHeaders);
  if (read === undefined) known.set(rawHeaders, (read = { head: readOnce(rawHeaders) }));
  return read.head;
}

function readOnce(rawHeaders: readonly string[]): LaneHead | undefined {
  const found: (string | undefined)[] = [undefined, undefined, undefined];
  const forwarded: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase();
    const value = rawHeaders[i + 1] as string;
    const place = PLACES.get(name);
    if (place !== undefined) {
      if (found[place] !== undefined) return undefined;
      found[place] = value;
    } else if (SPECIAL.has(name)) return undefined;
    if (name !== 'content-length' && isForwarded(name)) forwarded.push(name, value);
  }
  const [authorization, type = '', requestId] = found;
  if (authorization === undefined || !PLAIN_TYPE.test(type)) return undefined;
  return { authorization, requestId, forwarded };
}

import type { IncomingHttpHeaders } from 'node:http';

/**
 * What the conditions of a request say about a response (RFC 9110 section 13). A response of the gateway has no time of its last change, so conditions on
 * that are ignored.
 * @param etag of the response, strong
 */
export function precondition(
  { 'if-match': match, 'if-none-match': noneMatch }: IncomingHttpHeaders,
  etag: string,
): 'failed' | 'not-modified' | undefined {
  if (match !== undefined && !hasTag(match, etag)) return 'failed';
  // Tags of `If-None-Match` are compared as weak ones.
  return noneMatch !== undefined && hasTag(noneMatch.replaceAll('W/"', '"'), etag) ? 'not-modified' : undefined;
}

function hasTag(list: string, etag: string): boolean {
  return list.trim() === '*' || list.split(',').some((tag) => tag.trim() === etag);
}

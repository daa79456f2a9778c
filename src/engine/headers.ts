type HeaderValue = string | readonly string[] | undefined;
export type HeaderRecord = Readonly<Record<string, HeaderValue>>;

/** RFC 9110 section 7.6.1, with the two that only ever concern one connection. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** The caller's own credentials are for olap-warden; `host` and `expect` belong to its connection. */
const NOT_SENT = new Set(['authorization', 'cookie', 'host', 'expect', 'http2-settings']);

/** Names that the `Connection` header makes hop-by-hop for this one message. */
function namedByConnection(headers: HeaderRecord): ReadonlySet<string> | undefined {
  const { connection } = headers;
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return undefined;
  const text = typeof connection === 'string' ? connection : connection.join(',');
  return new Set(text.split(',').map((name) => name.trim().toLowerCase()));
}

/**
 * What goes to the engine of a request's headers, as undici takes them, with the gateway's credential.
 * @param headers lower-case names
 * @param keepLength whether `content-length` still describes the body, as it does for a body that is passed on as a stream
 */
export function requestHeaders(
  headers: HeaderRecord,
  authorization: string | undefined,
  keepLength: boolean,
): Record<string, string | string[]> {
  const named = namedByConnection(headers);
  const sent: Record<string, string | string[]> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || HOP_BY_HOP.has(name) || NOT_SENT.has(name) || named?.has(name)) continue;
    if (name === 'content-length' && !keepLength) continue;
    sent[name] = typeof value === 'string' ? value : [...value];
  }
  if (authorization !== undefined) sent['authorization'] = authorization;
  return sent;
}

/** What of an answer's headers goes on to the client: all but those of the connection to the engine. */
export function responseHeaders(headers: HeaderRecord): Record<string, string | string[]> {
  const named = namedByConnection(headers);
  const kept: Record<string, string | string[]> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || HOP_BY_HOP.has(name) || named?.has(name)) continue;
    kept[name] = typeof value === 'string' ? value : [...value];
  }
  return kept;
}

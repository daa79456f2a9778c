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

/** Whether a header of a request goes on to the engine, where `Connection` names none. @param name in lower case */
export function isForwarded(name: string): boolean {
  return !HOP_BY_HOP.has(name) && !NOT_SENT.has(name);
}

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

/**
 * The same as names and values in turn, for a body whose length the sender tells.
 * @param headers a list holds what goes on already
 */
export function requestHeaderList(
  headers: HeaderRecord | readonly string[],
  authorization: string | undefined,
): readonly string[] {
  if (isList(headers)) return authorization === undefined ? headers : [...headers, 'authorization', authorization];
  const named = namedByConnection(headers);
  const sent: string[] = [];
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || name === 'content-length') continue;
    if (HOP_BY_HOP.has(name) || NOT_SENT.has(name) || named?.has(name)) continue;
    if (typeof value === 'string') sent.push(name, value);
    else for (const one of value) sent.push(name, one);
  }
  if (authorization !== undefined) sent.push('authorization', authorization);
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

/** Names and values in turn. */
export function headerList(headers: HeaderRecord): string[] {
  const list: string[] = [];
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue;
    if (typeof value === 'string') list.push(name, value);
    else for (const one of value) list.push(name, one);
  }
  return list;
}

/** What of the headers of an answer goes on, by the list of them: the same list comes with many answers. */
const keptOf = new WeakMap<readonly string[], Kept>();

interface Kept {
  readonly list: readonly string[];
  /** In lower case. */
  readonly names: ReadonlySet<string>;
}

/**
 * As `responseHeaders`, of names and values in turn, which keep their spelling and order.
 * @param own headers that stand beside them, names in lower case and values in turn; those that the answer has itself are left out
 */
export function responseHeaderList(rawHeaders: readonly string[], own: readonly string[] = []): string[] {
  let kept = keptOf.get(rawHeaders);
  if (kept === undefined) keptOf.set(rawHeaders, (kept = keepHeaders(rawHeaders)));
  const sent = [...kept.list];
  for (let i = 0; i + 1 < own.length; i += 2) {
    if (!kept.names.has(own[i] as string)) sent.push(own[i] as string, own[i + 1] as string);
  }
  return sent;
}

function keepHeaders(rawHeaders: readonly string[]): Kept {
  const named = namedByConnection({ connection: headerOf(rawHeaders, 'connection') });
  const list: string[] = [];
  const names = new Set<string>();
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase();
    if (HOP_BY_HOP.has(name) || named?.has(name)) continue;
    names.add(name);
    list.push(rawHeaders[i] as string, rawHeaders[i + 1] as string);
  }
  return { list, names };
}

/** The value of a header, the lines of one that stands there several times joined; undefined where it is absent. */
export function headerOf(rawHeaders: readonly string[], name: string): string | undefined {
  let found: string | undefined;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if ((rawHeaders[i] as string).toLowerCase() !== name) continue;
    found = found === undefined ? rawHeaders[i + 1] : `${found}, ${rawHeaders[i + 1]}`;
  }
  return found;
}

function isList(headers: HeaderRecord | readonly string[]): headers is readonly string[] {
  return Array.isArray(headers);
}

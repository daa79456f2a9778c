type HeaderValue = string | readonly string[] | undefined;
export type HeaderRecord = Readonly<Record<string, HeaderValue>>;

/** RFC 9110 section 7.6.1, with two more headers that concern only one connection. */
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

/** The client's credentials are only for olap-warden; `host` and `expect` concern only the client's connection. */
const NOT_FORWARDED = new Set(['authorization', 'cookie', 'host', 'expect', 'http2-settings']);

/**
 * Response headers that are the gateway's to set: those by which a browser treats its origin or the response in another way, and the id of the request. A
 * compromised engine could replace the session of the dashboard, direct clients to another host, or let other sites read responses.
 */
const OWN_TO_GATEWAY = new Set([
  'alt-svc',
  'clear-site-data',
  'content-security-policy',
  'content-security-policy-report-only',
  'cross-origin-embedder-policy',
  'cross-origin-embedder-policy-report-only',
  'cross-origin-opener-policy',
  'cross-origin-opener-policy-report-only',
  'cross-origin-resource-policy',
  'document-policy',
  'feature-policy',
  'nel',
  'origin-agent-cluster',
  'permissions-policy',
  'referrer-policy',
  'refresh',
  'report-to',
  'reporting-endpoints',
  'service-worker-allowed',
  'set-cookie',
  'set-cookie2',
  'strict-transport-security',
  'timing-allow-origin',
  'x-content-type-options',
  'x-dns-prefetch-control',
  'x-download-options',
  'x-frame-options',
  'x-permitted-cross-domain-policies',
  'x-request-id',
  'x-xss-protection',
]);
const CORS = 'access-control-';

const isReturned = (name: string): boolean =>
  !HOP_BY_HOP.has(name) && !OWN_TO_GATEWAY.has(name) && !name.startsWith(CORS);

/** Headers that `Connection` declares as hop-by-hop for this message. */
function namedByConnection(headers: HeaderRecord): ReadonlySet<string> | undefined {
  const { connection } = headers;
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return undefined;
  const text = typeof connection === 'string' ? connection : connection.join(',');
  return new Set(text.split(',').map((name) => name.trim().toLowerCase()));
}

/**
 * Request headers for the engine, as alternating names and values, with the gateway's credential.
 * @param headers lower-case names
 * @param keepLength whether `content-length` still describes the body, as for a body forwarded as a stream
 */
export function requestHeaderList(
  headers: HeaderRecord,
  authorization: string | undefined,
  keepLength: boolean,
): string[] {
  const named = namedByConnection(headers);
  const sent: string[] = [];
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || (name === 'content-length' && !keepLength)) continue;
    if (HOP_BY_HOP.has(name) || NOT_FORWARDED.has(name) || named?.has(name)) continue;
    if (typeof value === 'string') sent.push(name, value);
    else for (const one of value) sent.push(name, one);
  }
  return withCredential(sent, authorization);
}

/** @param list alternating names and values that are all forwarded */
export function withCredential(list: readonly string[], authorization: string | undefined): string[] {
  return authorization === undefined ? [...list] : [...list, 'authorization', authorization];
}

/** Response headers for the client: all except hop-by-hop headers of the connection to the engine, and those that are the gateway's to set. */
export function responseHeaders(headers: HeaderRecord): Record<string, string | string[]> {
  const named = namedByConnection(headers);
  const kept: Record<string, string | string[]> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || !isReturned(name) || named?.has(name)) continue;
    kept[name] = typeof value === 'string' ? value : [...value];
  }
  return kept;
}

/** Alternating names and values. */
export function headerList(headers: HeaderRecord): string[] {
  const list: string[] = [];
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue;
    if (typeof value === 'string') list.push(name, value);
    else for (const one of value) list.push(name, one);
  }
  return list;
}

interface FilteredHeaders {
  readonly list: string[];
  /** Lower-case names. */
  readonly names: ReadonlySet<string>;
}

/**
 * Like `responseHeaders`, for alternating names and values; keeps their spelling and order.
 * @param own additional headers, alternating lower-case names and values; ignored if the response has a header of that name
 */
export function responseHeaderList(rawHeaders: readonly string[], own: readonly string[] = []): string[] {
  const kept = filterHeaders(rawHeaders);
  const sent = kept.list;
  for (let i = 0; i + 1 < own.length; i += 2) {
    if (!kept.names.has(own[i] as string)) sent.push(own[i] as string, own[i + 1] as string);
  }
  return sent;
}

function filterHeaders(rawHeaders: readonly string[]): FilteredHeaders {
  const named = namedByConnection({ connection: headerOf(rawHeaders, 'connection') });
  const list: string[] = [];
  const names = new Set<string>();
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase();
    if (!isReturned(name) || named?.has(name)) continue;
    names.add(name);
    list.push(rawHeaders[i] as string, rawHeaders[i + 1] as string);
  }
  return { list, names };
}

/** Value of a header, with repeated lines joined; undefined if absent. */
export function headerOf(rawHeaders: readonly string[], name: string): string | undefined {
  let found: string | undefined;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if ((rawHeaders[i] as string).toLowerCase() !== name) continue;
    found = found === undefined ? rawHeaders[i + 1] : `${found}, ${rawHeaders[i + 1]}`;
  }
  return found;
}

import { markerOf } from './markers.ts';
import type { Random } from './random.ts';

export type Header = readonly [name: string, value: string];

/** A request in parts, so that each can be mutated. */
export interface Parts {
  readonly method: string;
  readonly target: string;
  readonly version: string;
  readonly headers: readonly Header[];
  /** The body as sent, in the framing of the headers. */
  readonly body: string;
}

export interface FuzzContext {
  /** Of a token that may query `orders` and read schemas. */
  readonly authorization: string;
  /** A page of a stored result. */
  readonly pageTarget: string;
}

export function printRequest({ method, target, version, headers, body }: Parts): string {
  const lines = [`${method} ${target} HTTP/${version}`, ...headers.map(([name, value]) => `${name}:${value}`)];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** Chunks of random sizes, some with extensions and trailers, as RFC 9112 allows them. */
function chunked(random: Random, text: string): string {
  let framed = '';
  for (let at = 0; at < text.length;) {
    const piece = text.slice(at, at + 1 + random.below(20));
    const size = piece.length.toString(16);
    framed += `${random.chance(0.2) ? `000${size}` : size}${random.chance(0.1) ? ';a=b' : ''}\r\n${piece}\r\n`;
    at += piece.length;
  }
  return `${framed}0\r\n${random.chance(0.1) ? 'X-Fuzz-Trailer: 1\r\n' : ''}\r\n`;
}

const spaced = (random: Random, value: string): string =>
  `${random.pick([' ', '', '  ', '\t', ' \t '])}${value}${random.pick(['', '', ' ', '\t'])}`;
const cased = (random: Random, name: string): string => random.pick([name, name.toLowerCase(), name.toUpperCase()]);

/** A header that every client may send and that does not affect the query. */
const HARMLESS: readonly Header[] = [
  ['Accept', '*/*'],
  ['Accept-Language', 'de, en;q=0.5'],
  ['User-Agent', 'fuzz/1 (a; b)'],
  ['Cookie', 'a=b; c="d"'],
  ['X-Fuzz', 'one'],
  ['X-Fuzz-Long', 'y'.repeat(4_000)],
  ['X-Fuzz-Empty', ''],
  ['X-Fuzz-Bytes', '\xe4\xf6\xfc'],
  ['Cache-Control', 'no-cache'],
  ['Origin', 'http://elsewhere.example'],
  ['Referer', 'http://elsewhere.example/x?y'],
  ['X-Forwarded-For', '10.0.0.1'],
  ['Forwarded', 'for=10.0.0.1'],
  ['Via', '1.1 x'],
];

type Kind = 'post' | 'post-chunked' | 'get' | 'schema' | 'page';
const KINDS: readonly Kind[] = ['post', 'post', 'post-chunked', 'get', 'schema', 'page'];

/** A request that must succeed. @returns its parts, and the marker of its response; none for a page */
export function validRequest(
  random: Random,
  context: FuzzContext,
  id: string,
  place: number,
): { readonly parts: Parts; readonly marker: string | undefined } {
  const kind = random.pick(KINDS);
  const marker = markerOf(id, place);
  const sql = `SELECT a FROM orders WHERE a = '${marker}'`;
  const parts = partsOf(kind, random, context, { sql, marker });
  const extra = random.chance(0.5)
    ? [random.pick(HARMLESS), ...(random.chance(0.3) ? [random.pick(HARMLESS)] : [])]
    : [];
  // A repeated harmless header may be a list or a contradiction.
  const once = new Map(extra.map((header) => [header[0], header]));
  const headers = [
    ['Host', 'gateway'],
    ['Authorization', context.authorization],
    ...once.values(),
    ...parts.headers,
  ] as const;
  // Node's parser rejects a tab after `chunked`.
  const printed = headers.map(([name, value]): Header => {
    const padded = spaced(random, value);
    return [cased(random, name), name === 'Transfer-Encoding' ? padded.trimEnd() : padded];
  });
  return {
    parts: { version: '1.1', ...parts, headers: random.chance(0.3) ? printed.toReversed() : printed },
    marker: kind === 'page' ? undefined : marker,
  };
}

function partsOf(
  kind: Kind,
  random: Random,
  context: FuzzContext,
  { sql, marker }: { readonly sql: string; readonly marker: string },
): Omit<Parts, 'version'> {
  const body = JSON.stringify({ sql });
  const type = [
    'Content-Type',
    random.pick(['application/json', 'application/json; charset=utf-8', 'application/json;charset="UTF-8"']),
  ] as const;
  const path = random.pick(['/query/sql', '/sql']);
  switch (kind) {
    case 'post':
      return { method: 'POST', target: path, headers: [type, ['Content-Length', String(body.length)]], body };
    case 'post-chunked':
      return {
        method: 'POST',
        target: path,
        headers: [type, ['Transfer-Encoding', 'chunked']],
        body: chunked(random, body),
      };
    case 'get':
      return { method: 'GET', target: `${path}?sql=${encodeURIComponent(sql)}`, headers: [], body: '' };
    case 'schema':
      return { method: 'GET', target: `/tables/${marker}/schema`, headers: [], body: '' };
    case 'page':
      return { method: 'GET', target: context.pageTarget, headers: [], body: '' };
  }
}

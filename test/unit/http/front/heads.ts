import fc from 'fast-check';

/** Heads as clients and attackers write them: plain ones, and the same with one or two things wrong. */

const PLAIN_NAMES = ['Accept', 'authorization', 'x-request-id', 'X-Forwarded-For', 'Cookie', 'a', '!#$%&*+-.^_`|~'];
const SPECIAL_NAMES = ['Expect', 'Upgrade', 'TE', 'Trailer', 'HTTP2-Settings', 'Proxy-Connection'];

const valueText = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('', 'a', '*/*', 'Bearer x.y', 'a b', 'a\tb', 'a, b', '"', '1:2', ':') },
  fc.string({ unit: 'binary-ascii', maxLength: 12 }),
  fc.string({ unit: fc.integer({ min: 0x80, max: 0xff }).map((code) => String.fromCharCode(code)), maxLength: 4 }),
);
const space = fc.oneof({ weight: 6, arbitrary: fc.constant(' ') }, fc.constantFrom('', '\t', '  ', ' \t ', '\t\t'));
const trailing = fc.oneof({ weight: 6, arbitrary: fc.constant('') }, fc.constantFrom(' ', '\t', ' \t', '  '));

function header(name: fc.Arbitrary<string>, value: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .tuple(name, space, value, trailing)
    .map(([name, before, value, after]) => `${name}:${before}${value}${after}`);
}

const anyCase = (name: string): fc.Arbitrary<string> =>
  fc.constantFrom(name, name, name.toLowerCase(), name.toUpperCase());
const lengthValue = fc.oneof(
  { weight: 6, arbitrary: fc.nat(40).map(String) },
  fc.constantFrom('007', '0', '00', '+5', '-1', '0x5', '5,5', '5, 5', '5 5', '', '1e1', '5.0', '９', '1'.repeat(16)),
);
const connectionValue = fc.constantFrom(
  'keep-alive',
  'Keep-Alive',
  'close',
  'upgrade',
  'keep-alive, close',
  'TE',
  '',
  'closed',
);
const specialValue = fc.constantFrom('100-continue', 'x', 'websocket', 'h2c', 'trailers', 'close', 'keep-alive', '');

const headerLine = fc.oneof(
  { weight: 8, arbitrary: header(fc.constantFrom(...PLAIN_NAMES), valueText) },
  { weight: 6, arbitrary: header(anyCase('Content-Length'), lengthValue) },
  { weight: 3, arbitrary: header(anyCase('Connection'), connectionValue) },
  { weight: 1, arbitrary: header(fc.constantFrom(...SPECIAL_NAMES), specialValue) },
  {
    weight: 1,
    arbitrary: header(
      anyCase('Transfer-Encoding'),
      fc.constantFrom('chunked', 'identity', 'xchunked', 'gzip, chunked'),
    ),
  },
  { weight: 1, arbitrary: header(fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 6 }), valueText) },
);
const hostLine = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom('Host: gateway', 'host:gateway', 'HOST: gateway:8080') },
  fc.constantFrom('Host:', 'Host : gateway', 'Hos: gateway'),
);

const method = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'QUERY') },
  fc.constantFrom('get', 'Get', 'GETT', 'FOO', 'PRI', 'SOURCE', 'DESCRIBE', 'CONNECT', 'M-SEARCH', 'X', 'GE\0T', ''),
);
const target = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom('/', '/query/sql', '/a?b=c&d=%31', '/a#b', '//a', '/a#b#c?d', '/"<>\\^`{|}'),
  },
  { weight: 2, arbitrary: fc.string({ unit: 'binary-ascii', maxLength: 8 }).map((text) => `/${text}`) },
  fc.constantFrom('*', 'http://other/', 'http://other:80/a?b', 'other:443', '', 'a', '/é', `/${'a'.repeat(17_000)}`),
);
const version = fc.oneof(
  { weight: 12, arbitrary: fc.constant('HTTP/1.1') },
  fc.constantFrom('HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0', 'http/1.1', 'HTTP/1.1 ', 'HTTP/1.10', ''),
);

const wellFormed = fc
  .tuple(method, target, version, hostLine, fc.array(headerLine, { maxLength: 5 }), fc.nat(5))
  .map(([method, target, version, host, headers, place]) => {
    const lines = headers.toSpliced(place, 0, host);
    return `${method} ${target} ${version}\r\n${lines.join('\r\n')}\r\n\r\n`;
  });

/** What may stand in the place of, or before, any byte. */
const OTHERS = ['\n', '\r', '\0', ' ', '\t', ':', '\r\n', '\r\n ', '\r\n\t', '\n\n', '\r\n\r\n', '\x7f', '\x0b', 'é'];
const mutation = fc.record({ at: fc.nat(400), other: fc.constantFrom(...OTHERS, ''), replaces: fc.boolean() });

function mutated(head: string, mutations: readonly { at: number; other: string; replaces: boolean }[]): string {
  let text = head;
  for (const { at, other, replaces } of mutations) {
    const place = at % text.length;
    text = text.slice(0, place) + other + text.slice(place + (replaces ? 1 : 0));
  }
  return text;
}

/** Plain for the most part. */
export const PLAIN_HEAD = fc
  .tuple(
    fc.constantFrom('GET', 'POST'),
    fc.constantFrom('/', '/query/sql', '/a?b'),
    fc.uniqueArray(
      fc.constantFrom(
        'a: b',
        'a: c',
        'A: b',
        'content-length: 1',
        'Content-Length: 12',
        'x: \xe9',
        'connection: keep-alive',
      ),
      { maxLength: 4, selector: (line) => line.split(':')[0]?.toLowerCase() },
    ),
  )
  .map(
    ([method, url, lines]) =>
      `${method} ${url} HTTP/1.1\r\nhost: a\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`,
  );

export const HEAD = fc.oneof(
  { weight: 2, arbitrary: wellFormed },
  {
    weight: 1,
    arbitrary: fc.tuple(wellFormed, fc.array(mutation, { minLength: 1, maxLength: 2 })).map((args) => mutated(...args)),
  },
);

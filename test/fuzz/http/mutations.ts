import type { Random } from './random.ts';
import { type Header, type Parts, printRequest } from './requests.ts';

/** Mutates a request in one way. The expected reaction of the gateway is not fixed: several interpretations are allowed, but not all. */
export interface Mutation {
  readonly name: string;
  apply(random: Random, parts: Parts): string;
}

const withHeaders = (parts: Parts, change: (headers: readonly Header[]) => readonly Header[]): string =>
  printRequest({ ...parts, headers: change(parts.headers) });
const without = (headers: readonly Header[], name: string): readonly Header[] =>
  headers.filter(([key]) => key.toLowerCase() !== name);
const lengthOf = (parts: Parts): number => parts.body.length;

/** Headers that frame a body in a way that servers interpret differently. */
const FRAMINGS: readonly ((length: number) => readonly Header[])[] = [
  () => [],
  (n) => [
    ['Content-Length', ` ${n}`],
    ['Content-Length', ` ${n}`],
  ],
  (n) => [
    ['Content-Length', ` ${n}`],
    ['Content-Length', ` ${n + 1}`],
  ],
  (n) => [['Content-Length', ` ${n}, ${n}`]],
  (n) => [['Content-Length', ` +${n}`]],
  (n) => [['Content-Length', ` -${n}`]],
  (n) => [['Content-Length', ` 0${n}`]],
  (n) => [['Content-Length', ` 0x${n.toString(16)}`]],
  (n) => [['Content-Length', ` ${n}.0`]],
  (n) => [['Content-Length', ` ${n} ${n}`]],
  (n) => [['Content-Length', ` ${n - 1}`]],
  (n) => [['Content-Length', ` ${n + 1}`]],
  (n) => [['Content-Length', ` ${n + 1_000_000}`]],
  () => [['Content-Length', ' 0']],
  () => [['Content-Length', ' ']],
  () => [['Content-Length', ' 99999999999999999999999']],
  (n) => [
    ['Content-Length', ` ${n}`],
    ['Transfer-Encoding', ' chunked'],
  ],
  (n) => [
    ['Transfer-Encoding', ' chunked'],
    ['Content-Length', ` ${n}`],
  ],
  (n) => [
    ['Content-Length', ` ${n}`],
    ['Transfer-Encoding', ' identity'],
  ],
  () => [['Transfer-Encoding', ' xchunked']],
  () => [['Transfer-Encoding', ' chunked, chunked']],
  () => [['Transfer-Encoding', ' gzip, chunked']],
  () => [['Transfer-Encoding', ' chunked, gzip']],
  () => [['Transfer-Encoding', ' Chunked']],
  () => [['Transfer-Encoding', '\tchunked\t']],
  () => [['Transfer-Encoding', ' "chunked"']],
  () => [['Transfer-Encoding', ' chunked;q=1']],
  () => [
    ['Transfer-Encoding', ' chunked'],
    ['Transfer-Encoding', ' chunked'],
  ],
  () => [['Transfer-Encoding', ' \x0bchunked']],
  (n) => [
    ['Transfer-Encoding ', ' chunked'],
    ['Content-Length', ` ${n}`],
  ],
  (n) => [['Content_Length', ` ${n}`]],
  (n) => [['Content-Length ', ` ${n}`]],
];

const ODD_HEADERS: readonly Header[] = [
  ['X-Fuzz', ' a\r\n folded'],
  ['X-Fuzz', ' a\r\n\tfolded'],
  ['X-Fuzz', ' a\nX-Fuzz-Bare: b'],
  ['X-Fuzz', ' a\rX-Fuzz-Bare: b'],
  ['X-Fuzz', ' a\0b'],
  ['X-Fuzz', ' \x7f'],
  ['X Fuzz', ' a'],
  ['', ' a'],
  [' X-Fuzz', ' a'],
  ['X-Fuzz\t', ' a'],
  ['X-Fuzz(', ' a'],
  ['X-\xe4', ' a'],
  ['Host', ' other'],
  ['Host', ' a, b'],
  ['Authorization', ' Bearer x'],
  ['Authorization', ' Basic !!!'],
  ['Expect', ' 100-continue'],
  ['Expect', ' 100-Continue, x'],
  ['Expect', ' something'],
  ['Upgrade', ' websocket'],
  ['Upgrade', ' h2c'],
  ['Connection', ' upgrade'],
  ['Connection', ' database'],
  ['Connection', ' content-length'],
  ['Connection', ' transfer-encoding, close'],
  ['Connection', ' keep-alive, authorization'],
  ['Connection', ' close, keep-alive'],
  ['Connection', ' '],
  ['Keep-Alive', ' timeout=99999999999'],
  ['HTTP2-Settings', ' AAMAAABkAAQAAP__'],
  ['TE', ' trailers, deflate'],
  ['Trailer', ' Content-Length'],
  ['Content-Encoding', ' gzip'],
  ['Content-Type', ' application/json; charset=utf-8; charset=shift_jis'],
  ['Content-Type', ' text/plain'],
  ['Database', ' x'],
  ['Range', ' bytes=0-0, 2-'],
  ['If-Match', ' *'],
  ['X-HTTP-Method-Override', ' DELETE'],
  ['Accept-Encoding', ' gzip;q=1.0001, *;q=0'],
  ['Pinot-Use-Http-Status-For-Errors', ' true'],
  ['FORWARD_HOST', ' 127.0.0.1'],
  ['FORWARD_PORT', ' 9'],
];

const TARGETS: readonly ((target: string) => string)[] = [
  (target) => `http://gateway${target}`,
  (target) => `http://user@elsewhere.example:80${target}`,
  (target) => `HTTP://gateway${target}`,
  (target) => `https://gateway${target}`,
  (target) => `//gateway${target}`,
  (target) => `/x/..${target}`,
  (target) => `/.${target}`,
  (target) => `/${target}`,
  (target) => target.replace('q', '%71'),
  (target) => target.replace('s', '%73'),
  (target) => `${target}#fragment`,
  (target) => `${target}?`,
  (target) => `${target}?a=b&a=c&sql=x`,
  (target) => `${target};a=b`,
  (target) => `${target}%00`,
  (target) => `${target}%zz`,
  (target) => `${target}\\..\\x`,
  (target) => `${target}\xe4`,
  (target) => `${target} x`,
  (target) => target.slice(1),
  (target) => target.toUpperCase(),
  (target) => `${target}${'/x'.repeat(10_000)}`,
  () => '*',
  () => 'gateway:80',
  () => '',
  () => '/',
];

const METHODS = [
  'HEAD',
  'OPTIONS',
  'PUT',
  'DELETE',
  'PATCH',
  'TRACE',
  'CONNECT',
  'QUERY',
  'PRI',
  'get',
  'G E T',
  'GET\0',
  'X'.repeat(300),
  '',
];
const VERSIONS = ['1.0', '0.9', '1.2', '2.0', '2', '1', '11', '1.1 ', '1.1x', ' 1.1', '9.9'];

/** Bytes with a meaning in HTTP, and some without. */
const BYTES = ['\r', '\n', '\r\n', '\0', ' ', '\t', ':', ',', ';', '"', '%', '/', '\xff', '0', 'a', '\r\n\r\n'];

function edit(random: Random, text: string): string {
  const at = random.below(text.length);
  const kind = random.below(5);
  if (kind === 0) return text.slice(0, at) + random.pick(BYTES) + text.slice(at);
  if (kind === 1) return text.slice(0, at) + text.slice(at + 1 + random.below(3));
  if (kind === 2) return text.slice(0, at) + String.fromCharCode(random.below(256)) + text.slice(at + 1);
  if (kind === 3) return text.slice(0, at) + text.slice(Math.max(0, at - 1 - random.below(40)), at) + text.slice(at);
  return text.slice(0, at) + random.pick(BYTES) + text.slice(at + 1);
}

export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'framing',
    apply: (random, parts) =>
      withHeaders(parts, (headers) => [
        ...without(without(headers, 'content-length'), 'transfer-encoding'),
        ...random.pick(FRAMINGS)(lengthOf(parts)),
      ]),
  },
  {
    name: 'header',
    apply: (random, parts) =>
      withHeaders(parts, (headers) => {
        const at = random.below(headers.length + 1);
        return [...headers.slice(0, at), random.pick(ODD_HEADERS), ...headers.slice(at)];
      }),
  },
  {
    name: 'missing header',
    apply: (random, parts) => {
      const [name] = random.pick(parts.headers);
      return withHeaders(parts, (headers) => without(headers, name.toLowerCase()));
    },
  },
  {
    name: 'huge head',
    apply: (random, parts) => {
      const many = Array.from({ length: random.pick([100, 1_000, 3_000]) }, (_, i): Header => [`X-Fuzz-${i}`, ' 1']);
      const long: Header = ['X-Fuzz', ` ${'y'.repeat(random.pick([8_000, 16_000, 64_000, 200_000]))}`];
      return withHeaders(parts, (headers) => [...headers, ...(random.chance(0.5) ? many : [long])]);
    },
  },
  { name: 'target', apply: (random, parts) => printRequest({ ...parts, target: random.pick(TARGETS)(parts.target) }) },
  { name: 'method', apply: (random, parts) => printRequest({ ...parts, method: random.pick(METHODS) }) },
  { name: 'version', apply: (random, parts) => printRequest({ ...parts, version: random.pick(VERSIONS) }) },
  {
    name: 'line ends',
    apply: (random, parts) => {
      const [head = '', ...rest] = printRequest(parts).split('\r\n\r\n');
      const ends = random.pick(['\n', '\r', '\r\r\n', '\n\r', '\r\n ']);
      const whole = random.chance(0.5);
      const changed = head
        .split('\r\n')
        .reduce((text, line) => text + (whole || random.chance(0.2) ? ends : '\r\n') + line);
      return [changed, ...rest].join(random.pick(['\r\n\r\n', '\n\n', `${ends}${ends}`]));
    },
  },
  {
    name: 'line ends before',
    apply: (random, parts) => random.pick(['\r\n', '\r\n\r\n', '\n', ' ', '\0', '\r']) + printRequest(parts),
  },
  {
    name: 'bytes',
    apply: (random, parts) => {
      let text = printRequest(parts);
      for (let i = 1 + random.below(4); i > 0; i--) text = edit(random, text);
      return text;
    },
  },
  {
    name: 'chunks',
    apply: (random, parts) => {
      const size = parts.body.length.toString(16);
      const body = random.pick([
        `${size}\n${parts.body}\n0\n\n`,
        `${size}\r\n${parts.body}0\r\n\r\n`,
        `0x${size}\r\n${parts.body}\r\n0\r\n\r\n`,
        ` ${size}\r\n${parts.body}\r\n0\r\n\r\n`,
        `${size} \r\n${parts.body}\r\n0\r\n\r\n`,
        `${size};${'x'.repeat(20_000)}\r\n${parts.body}\r\n0\r\n\r\n`,
        `${size};a="\r\n"\r\n${parts.body}\r\n0\r\n\r\n`,
        `-${size}\r\n${parts.body}\r\n0\r\n\r\n`,
        `fffffffffffffffff${size}\r\n${parts.body}\r\n0\r\n\r\n`,
        `${size}\r\n${parts.body}\r\n0\r\nContent-Length: 5\r\nHost: x\r\n\r\n`,
        `${size}\r\n${parts.body}\r\n00000000000000000000\r\n\r\n`,
        `${size}\r\n${parts.body}\r\n`,
        `\r\n${parts.body}\r\n0\r\n\r\n`,
        `0\r\n\r\n${parts.body}`,
      ]);
      const headers: readonly Header[] = [
        ...without(without(parts.headers, 'content-length'), 'transfer-encoding'),
        ['Transfer-Encoding', ' chunked'],
      ];
      return printRequest({ ...parts, headers, body });
    },
  },
  {
    name: 'two mutations',
    apply: (random, parts) => edit(random, random.pick(MUTATIONS.slice(0, 6)).apply(random, parts)),
  },
];

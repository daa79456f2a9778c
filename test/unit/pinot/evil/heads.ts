import { gzipSync } from 'node:zlib';
import type { EngineRequest } from '../../../../src/pinot/types.ts';
import { send, sendAndEnd } from './evil-engine.ts';
import { OK, CHUNKED, length, whole, BAD, GONE, broken, slow, type Scenario } from './scenario.ts';

const HEAD_REQUEST = { method: 'HEAD', body: undefined as never };
const head = (): Partial<EngineRequest> => HEAD_REQUEST;

const IN_CHUNKS = '5\r\nright\r\n0\r\n\r\n';

/** Values of framing headers that two parsers could read differently: each is refused, or read by its meaning. */
const FRAMINGS: readonly Scenario[] = [
  ...[
    'chunked ',
    'chunked\t',
    'chunked \t',
    'chunked\t ',
    'chunked,',
    ',chunked',
    'chunked;a=b',
    '"chunked"',
    'chunked, chunked',
    '\x0bchunked',
  ].map((value) => ({
    name: `chunks after Transfer-Encoding ${JSON.stringify(value)}`,
    play: sendAndEnd(`${OK}Transfer-Encoding: ${value}\r\n\r\n${IN_CHUNKS}`),
    sees: BAD,
  })),
  ...['\tchunked', '  chunked', 'Chunked', 'CHUNKED'].map((value) => ({
    name: `chunks after Transfer-Encoding ${JSON.stringify(value)}`,
    play: send(`${OK}Transfer-Encoding: ${value}\r\n\r\n${IN_CHUNKS}`),
    sees: whole('right'),
  })),
  ...['5 ', '5\t', '5 \t', '5,', '5 5', '5;', '\x0b5'].map((value) => ({
    name: `Content-Length ${JSON.stringify(value)}`,
    play: sendAndEnd(`${length(value)}right`),
    sees: BAD,
  })),
  ...['\t5', '05'].map((value) => ({
    name: `Content-Length ${JSON.stringify(value)}`,
    play: send(`${length(value)}right`),
    sees: whole('right'),
  })),
];

/** Response heads and framing. */
export const HEADS: readonly Scenario[] = [
  { name: 'a body of the right length', play: send(`${length(5)}right`), sees: whole('right') },
  { name: 'a body in chunks', play: send(`${CHUNKED}5\r\nright\r\n0\r\n\r\n`), sees: whole('right') },
  { name: 'a body until the close', play: sendAndEnd(`${OK}\r\nright`), sees: whole('right') },
  {
    name: 'Content-Length twice, the same',
    play: send(`${OK}Content-Length: 5\r\n${length(5).slice(17)}right`),
    sees: BAD,
  },
  {
    name: 'Content-Length twice, different',
    play: send(`${OK}Content-Length: 5\r\nContent-Length: 9\r\n\r\nrightleft`),
    sees: BAD,
  },
  { name: 'Content-Length as a list', play: send(`${length('5, 5')}right`), sees: BAD },
  { name: 'Content-Length negative', play: send(`${length(-5)}right`), sees: BAD },
  { name: 'Content-Length with a plus', play: send(`${length('+5')}right`), sees: BAD },
  { name: 'Content-Length hexadecimal', play: send(`${length('0x5')}right`), sees: BAD },
  { name: 'Content-Length with a fraction', play: send(`${length('5.0')}right`), sees: BAD },
  { name: 'Content-Length empty', play: send(`${length('')}right`), sees: BAD },
  { name: 'Content-Length with words', play: send(`${length('five')}right`), sees: BAD },
  { name: 'Content-Length of 30 digits', play: send(`${length('9'.repeat(30))}right`), sees: BAD },
  {
    name: 'Content-Length of 2^60, then the end',
    play: sendAndEnd(`${length('1152921504606846976')}right`),
    sees: BAD,
  },
  {
    name: 'Content-Length of a terabyte, then the end',
    play: sendAndEnd(`${length(1e12)}right`),
    sees: broken('right'),
  },
  {
    name: 'Content-Length and chunks',
    play: send(`${OK}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nright\r\n0\r\n\r\n`),
    sees: BAD,
  },
  {
    name: 'chunks and Content-Length',
    play: send(`${OK}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n5\r\nright\r\n0\r\n\r\n`),
    sees: BAD,
  },
  {
    name: 'Transfer-Encoding twice',
    play: send(`${OK}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nright\r\n0\r\n\r\n`),
    sees: BAD,
  },
  {
    name: 'Transfer-Encoding of gzip and chunks',
    play: send(`${OK}Transfer-Encoding: gzip, chunked\r\n\r\n5\r\nright\r\n0\r\n\r\n`),
    sees: BAD,
  },
  { name: 'Transfer-Encoding of gzip alone', play: sendAndEnd(`${OK}Transfer-Encoding: gzip\r\n\r\nright`), sees: BAD },
  {
    name: 'Transfer-Encoding of identity',
    play: sendAndEnd(`${OK}Transfer-Encoding: identity\r\n\r\nright`),
    sees: BAD,
  },
  {
    name: 'Transfer-Encoding of an unknown kind',
    play: sendAndEnd(`${OK}Transfer-Encoding: xchunked\r\n\r\nright`),
    sees: BAD,
  },
  ...FRAMINGS,
  { name: 'HTTP/0.9', play: sendAndEnd('{"rows":[]}'), sees: BAD },
  {
    name: 'HTTP/1.0 with a length',
    play: send('HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nright'),
    sees: whole('right'),
  },
  { name: 'HTTP/1.0 until the close', play: sendAndEnd('HTTP/1.0 200 OK\r\n\r\nright'), sees: whole('right') },
  { name: 'HTTP/2.0 in words', play: send('HTTP/2.0 200 OK\r\nContent-Length: 5\r\n\r\nright'), sees: whole('right') },
  { name: 'HTTP/9.9', play: send('HTTP/9.9 200 OK\r\nContent-Length: 5\r\n\r\nright'), sees: BAD },
  {
    name: 'a preface of HTTP/2',
    play: send(Buffer.from('00000c04000000000000030000006400040010000000', 'hex')),
    sees: BAD,
  },
  { name: 'a TLS alert', play: sendAndEnd(Buffer.from('15030100020228', 'hex')), sees: BAD },
  { name: 'another protocol', play: send('SSH-2.0-OpenSSH_9.6\r\n'), sees: BAD },
  { name: 'a request in place of an answer', play: send('GET / HTTP/1.1\r\nHost: x\r\n\r\n'), sees: BAD },
  { name: 'bare line feeds', play: send('HTTP/1.1 200 OK\nContent-Length: 5\n\nright'), sees: BAD },
  { name: 'one bare line feed between headers', play: send(`${OK}X-A: 1\nContent-Length: 5\r\n\r\nright`), sees: BAD },
  {
    name: 'a bare carriage return in a value',
    play: send(`${OK}X-A: 1\rX-B: 2\r\nContent-Length: 5\r\n\r\nright`),
    sees: BAD,
  },
  { name: 'a header without a colon', play: send(`${OK}Nonsense\r\nContent-Length: 5\r\n\r\nright`), sees: BAD },
  { name: 'a header without a name', play: send(`${OK}: value\r\nContent-Length: 5\r\n\r\nright`), sees: BAD },
  { name: 'a space before the colon', play: send(`${OK}Content-Length : 5\r\n\r\nright`), sees: BAD },
  { name: 'a space in a name', play: send(`${OK}X A: 1\r\nContent-Length: 5\r\n\r\nright`), sees: BAD },
  { name: 'a NUL in a value', play: send(`${OK}X-A: a\0b\r\nContent-Length: 5\r\n\r\nright`), sees: BAD },
  { name: 'a NUL in a name', play: send(`${OK}X\0A: a\r\nContent-Length: 5\r\n\r\nright`), sees: BAD },
  {
    name: 'a control character in a value',
    play: send(`${OK}X-A: a\x01b\r\nContent-Length: 5\r\n\r\nright`),
    sees: BAD,
  },
  { name: 'a DEL in a value', play: send(`${OK}X-A: a\x7fb\r\nContent-Length: 5\r\n\r\nright`), sees: BAD },
  { name: 'a folded header', play: send(`${OK}X-A: a\r\n b\r\nContent-Length: 5\r\n\r\nright`), sees: BAD },
  { name: 'a folded Content-Length', play: send(`${OK}Content-Length:\r\n 5\r\n\r\nright`), sees: BAD },
  {
    name: 'a header of 100 KB',
    play: send(`${OK}X-A: ${'a'.repeat(100_000)}\r\nContent-Length: 5\r\n\r\nright`),
    sees: BAD,
  },
  {
    name: 'headers of 100 KB together',
    play: send(`${OK}${'X-A: aaaaaaaa\r\n'.repeat(7_000)}Content-Length: 5\r\n\r\nright`),
    sees: BAD,
  },
  {
    name: 'headers without end',
    play: async (socket) => {
      while (!socket.destroyed) await send('X-A: aaaaaaaa\r\n'.repeat(500))(socket);
    },
    sees: BAD,
  },
  {
    name: 'headers of 60 KB',
    play: send(`${OK}X-A: ${'a'.repeat(60_000)}\r\nContent-Length: 5\r\n\r\nright`),
    sees: whole('right'),
  },
  { name: 'a status of two digits', play: send('HTTP/1.1 20 OK\r\nContent-Length: 5\r\n\r\nright'), sees: BAD },
  { name: 'a status of four digits', play: send('HTTP/1.1 2000 OK\r\nContent-Length: 5\r\n\r\nright'), sees: BAD },
  { name: 'a status of 000', play: send('HTTP/1.1 000 No\r\nContent-Length: 5\r\n\r\nright'), sees: BAD },
  { name: 'a status of 099', play: send('HTTP/1.1 099 No\r\nContent-Length: 5\r\n\r\nright'), sees: BAD },
  { name: 'a status of 600', play: send('HTTP/1.1 600 No\r\nContent-Length: 5\r\n\r\nright'), sees: BAD },
  { name: 'a status of 999', play: send('HTTP/1.1 999 No\r\nContent-Length: 5\r\n\r\nright'), sees: BAD },
  { name: 'no status', play: send('HTTP/1.1\r\nContent-Length: 5\r\n\r\nright'), sees: BAD },
  { name: 'no reason', play: send('HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nright'), sees: whole('right') },
  {
    name: 'a change of protocol',
    play: send('HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\nbytes'),
    sees: BAD,
  },
  {
    name: 'an upgrade in a 200',
    play: send(`${OK}Connection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 5\r\n\r\nright`),
    sees: whole('right'),
  },
  { name: '100 before the answer', play: send(`HTTP/1.1 100 Continue\r\n\r\n${length(5)}right`), sees: BAD },
  { name: '100 and nothing more', play: send('HTTP/1.1 100 Continue\r\n\r\n'), sees: BAD },
  {
    name: '102 before the answer',
    play: send('HTTP/1.1 102 Processing\r\n\r\n', `${length(5)}right`),
    sees: whole('right'),
  },
  {
    name: '103 before the answer',
    play: send(`HTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\n${length(5)}right`),
    sees: whole('right'),
  },
  {
    name: '103 a thousand times before the answer',
    play: send(`${'HTTP/1.1 103 Hints\r\n\r\n'.repeat(1_000)}${length(5)}right`),
    sees: whole('right'),
  },
  {
    name: '103 with a length',
    play: send(`HTTP/1.1 103 Hints\r\nContent-Length: 5\r\n\r\n${length(5)}right`),
    sees: whole('right'),
  },
  {
    name: '103 without end',
    play: async (socket) => {
      while (!socket.destroyed) await send('HTTP/1.1 103 Hints\r\n\r\n')(socket);
    },
    request: slow,
    sees: { error: 'timeout' },
  },
  { name: '103, then the end', play: sendAndEnd('HTTP/1.1 103 Hints\r\n\r\n'), sees: GONE },
  {
    name: '204 with a length and a body',
    play: send('HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nwrong'),
    sees: whole('', 204),
  },
  { name: '204 with a body and no length', play: send('HTTP/1.1 204 No Content\r\n\r\nwrong'), sees: whole('', 204) },
  {
    name: '204 with an answer as its body',
    play: send(`HTTP/1.1 204 No Content\r\n\r\n${length(5)}wrong`),
    sees: whole('', 204),
  },
  {
    name: '304 with a length and a body',
    play: send('HTTP/1.1 304 Same\r\nContent-Length: 5\r\n\r\nwrong'),
    sees: whole('', 304),
  },
  {
    name: '304 with chunks',
    play: send('HTTP/1.1 304 Same\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nwrong\r\n0\r\n\r\n'),
    sees: whole('', 304),
  },
  { name: 'HEAD with a body', play: send(`${length(5)}wrong`), request: head, sees: whole('') },
  {
    name: 'HEAD with an answer as its body',
    play: send(`${length(5)}${length(5)}wrong`),
    request: head,
    sees: whole(''),
  },
  { name: 'HEAD with chunks', play: send(`${CHUNKED}5\r\nwrong\r\n0\r\n\r\n`), request: head, sees: whole('') },
  {
    name: 'gzip that is none',
    play: send(`${OK}Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nright`),
    sees: whole('right'),
  },
  {
    name: 'gzip that is cut',
    play: send(`${OK}Content-Encoding: gzip\r\nContent-Length: 9\r\n\r\n`, gzipSync('right').subarray(0, 9)),
    sees: whole(gzipSync('right').toString('latin1', 0, 9)),
  },
];

import type { EngineRequest } from '../../../../src/pinot/types.ts';
import { send, sendAndEnd, sendAndReset } from './evil-engine.ts';
import { OK, CHUNKED, length, whole, broken, drip, type Scenario } from './scenario.ts';

const silent = (): Partial<EngineRequest> => ({ bodyTimeoutMs: 300 });

/** Response bodies: missing or additional bytes. */
export const BODIES: readonly Scenario[] = [
  { name: 'a short body, then the end', play: sendAndEnd(`${length(9)}short`), sees: broken('short') },
  {
    name: 'a short body with Connection: close, then the end',
    play: sendAndEnd(`${OK}Connection: close\r\nContent-Length: 9\r\n\r\nshort`),
    sees: broken('short'),
  },
  { name: 'a short body, then a reset', play: sendAndReset(`${length(9)}short`), sees: broken('short') },
  {
    name: 'a short body, then silence',
    play: send(`${length(9)}short`),
    request: silent,
    sees: broken('short', 'timeout'),
  },
  { name: 'no body at all, then the end', play: sendAndEnd(length(9)), sees: broken('') },
  { name: 'a body of twice the length', play: send(`${length(5)}rightwrong`), sees: whole('right') },
  { name: 'one byte too many', play: send(`${length(5)}right!`), sees: whole('right') },
  { name: 'one byte too many, in a piece of its own', play: send(`${length(5)}right`, '!'), sees: whole('right') },
  { name: 'an empty body and then bytes', play: send(`${length(0)}wrong`), sees: whole('') },
  { name: 'a body until the close, then a reset', play: sendAndReset(`${OK}\r\nright`), sees: broken('right') },
  {
    name: 'a body until the close of HTTP/1.0, then a reset',
    play: sendAndReset('HTTP/1.0 200 OK\r\n\r\nright'),
    sees: broken('right'),
  },
  { name: 'an empty body until the close, then a reset', play: sendAndReset(`${OK}\r\n`), sees: broken('') },
  {
    name: 'a body until the close that looks like an answer',
    play: sendAndEnd(`${OK}\r\n${length(5)}wrong`),
    sees: whole(`${length(5)}wrong`),
  },
  {
    name: 'a body with Connection: close and no end of the connection',
    play: send(`${OK}Connection: close\r\nContent-Length: 5\r\n\r\nright`),
    sees: whole('right'),
  },
  { name: 'a body byte by byte', play: drip, sees: whole('slow!') },
  {
    name: 'a large body, then the end short of it',
    play: sendAndEnd(length(3_000_000), Buffer.alloc(2_000_000, 'x')),
    sees: broken('x'.repeat(2_000_000)),
  },
  { name: 'a chunk longer than its size', play: send(`${CHUNKED}5\r\nright!\r\n0\r\n\r\n`), sees: broken('right') },
  {
    name: 'a chunk shorter than its size',
    play: sendAndEnd(`${CHUNKED}9\r\nshort\r\n0\r\n\r\n`),
    sees: broken('short\r\n0\r\n\r\n'),
  },
  { name: 'a chunk without size', play: send(`${CHUNKED}\r\nright\r\n0\r\n\r\n`), sees: broken('') },
  { name: 'a chunk with a size in words', play: send(`${CHUNKED}five\r\nright\r\n0\r\n\r\n`), sees: broken('') },
  { name: 'a chunk with a negative size', play: send(`${CHUNKED}-5\r\nright\r\n0\r\n\r\n`), sees: broken('') },
  { name: 'a chunk with 0x', play: send(`${CHUNKED}0x5\r\nright\r\n0\r\n\r\n`), sees: broken('') },
  {
    name: 'a chunk size of 20 digits',
    play: send(`${CHUNKED}${'f'.repeat(20)}\r\nright\r\n0\r\n\r\n`),
    sees: broken(''),
  },
  {
    name: 'a chunk size with zeros before it',
    play: send(`${CHUNKED}0005\r\nright\r\n0\r\n\r\n`),
    sees: whole('right'),
  },
  { name: 'a chunk size with a bare line feed', play: send(`${CHUNKED}5\nright\r\n0\r\n\r\n`), sees: broken('') },
  {
    name: 'a chunk that ends with a bare line feed',
    play: send(`${CHUNKED}5\r\nright\n0\r\n\r\n`),
    sees: broken('right'),
  },
  { name: 'a chunk extension', play: send(`${CHUNKED}5;a=b;c="d"\r\nright\r\n0\r\n\r\n`), sees: whole('right') },
  {
    name: 'a chunk extension of 200 KB',
    play: send(`${CHUNKED}5;a=${'b'.repeat(200_000)}\r\nright\r\n0\r\n\r\n`),
    sees: whole('right'),
  },
  { name: 'a chunk extension with a NUL', play: send(`${CHUNKED}5;a=\0\r\nright\r\n0\r\n\r\n`), sees: broken('') },
  { name: 'a trailer', play: send(`${CHUNKED}5\r\nright\r\n0\r\nX-Sum: 1\r\n\r\n`), sees: whole('right') },
  {
    name: 'a trailer that names a length',
    play: send(`${CHUNKED}5\r\nright\r\n0\r\nContent-Length: 3\r\n\r\n`),
    sees: broken('right'),
  },
  {
    name: 'a trailer of 100 KB',
    play: send(`${CHUNKED}5\r\nright\r\n0\r\nX-A: ${'a'.repeat(100_000)}\r\n\r\n`),
    sees: broken('right'),
  },
  {
    name: 'a trailer without a colon',
    play: send(`${CHUNKED}5\r\nright\r\n0\r\nnonsense\r\n\r\n`),
    sees: broken('right'),
  },
  { name: 'chunks cut within a size', play: sendAndEnd(`${CHUNKED}5\r\nright\r\n1`), sees: broken('right') },
  { name: 'chunks cut within a chunk', play: sendAndEnd(`${CHUNKED}5\r\nright\r\n5\r\nle`), sees: broken('rightle') },
  { name: 'chunks cut behind a chunk', play: sendAndEnd(`${CHUNKED}5\r\nright\r\n`), sees: broken('right') },
  { name: 'chunks cut before the last line', play: sendAndEnd(`${CHUNKED}5\r\nright\r\n0\r\n`), sees: broken('right') },
  {
    name: 'chunks cut with Connection: close',
    play: sendAndEnd(`${OK}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nright\r\n`),
    sees: broken('right'),
  },
  { name: 'chunks, then a reset', play: sendAndReset(`${CHUNKED}5\r\nright\r\n`), sees: broken('right') },
  {
    name: 'chunks, then silence',
    play: send(`${CHUNKED}5\r\nright\r\n`),
    request: silent,
    sees: broken('right', 'timeout'),
  },
  { name: 'bytes behind the last chunk', play: send(`${CHUNKED}5\r\nright\r\n0\r\n\r\nwrong`), sees: whole('right') },
  {
    name: 'an answer within a chunk',
    play: send(`${CHUNKED}${length(0).length.toString(16)}\r\n${length(0)}\r\n0\r\n\r\n`),
    sees: whole(length(0)),
  },
];

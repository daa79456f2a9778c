import { Readable } from 'node:stream';
import type { EngineRequest } from '../../../../src/pinot/types.ts';
import { type Play, send, sendAndEnd, sendAndReset } from './evil-engine.ts';
import { OK, length, whole, GONE, slow, drip, type Scenario } from './scenario.ts';

const big = (): Partial<EngineRequest> => ({ body: Buffer.alloc(8 * 1024 * 1024, 'b') });
const endless = (): Partial<EngineRequest> => ({
  body: new Readable({
    read() {
      this.push(Buffer.alloc(16 * 1024, 's'));
    },
  }),
});
const never: Play = () => undefined;

/** Connection events before, during and after a response. */
export const STAGES: readonly Scenario[] = [
  { name: 'the end before an answer', play: sendAndEnd(), sees: GONE },
  { name: 'a reset before an answer', play: sendAndReset(), sees: GONE },
  { name: 'the end within the status line', play: sendAndEnd('HTTP/1.1 2'), sees: GONE },
  { name: 'a reset within the status line', play: sendAndReset('HTTP/1.1 2'), sees: GONE },
  { name: 'the end within the headers', play: sendAndEnd(`${OK}Content-Le`), sees: GONE },
  { name: 'a reset within the headers', play: sendAndReset(`${OK}Content-Le`), sees: GONE },
  { name: 'the end before the empty line', play: sendAndEnd(`${OK}Content-Length: 5\r\n`), sees: GONE },
  { name: 'no answer ever', play: never, request: slow, sees: { error: 'timeout' } },
  { name: 'half a head, then silence', play: send('HTTP/1.1 200 OK\r\nX-'), request: slow, sees: { error: 'timeout' } },
  { name: 'empty lines, then silence', play: send('\r\n\r\n\r\n'), request: slow, sees: { error: 'timeout' } },
  { name: 'empty lines before the answer', play: send(`\r\n\r\n${length(5)}right`), sees: whole('right') },
  { name: 'a head byte by byte', play: drip, sees: whole('slow!') },
  {
    name: 'an answer with the connection, before any request',
    moment: 'connection',
    play: send(`${length(5)}early`),
    sees: whole('early'),
  },
  { name: 'the end with the connection', moment: 'connection', play: sendAndEnd(), sees: GONE },
  {
    name: 'an answer before the body of the request',
    moment: 'head',
    request: big,
    play: send(`${length(5)}early`),
    sees: whole('early'),
  },
  {
    name: 'a refusal before the body of the request, then the end',
    moment: 'head',
    request: big,
    play: sendAndEnd('HTTP/1.1 413 No\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig'),
    sees: whole('big', 413),
  },
  {
    name: 'an answer before the end of a streamed body',
    moment: 'head',
    request: endless,
    play: send(`${length(5)}early`),
    sees: whole('early'),
  },
  {
    name: 'a reset before the end of a streamed body',
    moment: 'head',
    request: endless,
    play: sendAndReset(),
    sees: GONE,
  },
];

/** Bytes after a complete response: at once, while the connection is idle, and when the next request is about to be sent. */
export const EXTRAS: readonly (readonly [name: string, bytes: string, ends: boolean])[] = [
  ['another answer', `${length(5)}wrong`, false],
  ['two more answers', `${length(5)}wrong${length(5)}wrong`, false],
  ['another answer until the close', `${OK}\r\nwrong`, true],
  ['a 408', 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 5\r\n\r\nwrong', true],
  ['a 408 without an end', 'HTTP/1.1 408 Request Timeout\r\nContent-Length: 5\r\n\r\nwrong', false],
  ['a 100', 'HTTP/1.1 100 Continue\r\n\r\n', false],
  ['a 103', 'HTTP/1.1 103 Hints\r\n\r\n', false],
  ['half a head', `${OK}Content-Length: 5\r\n`, false],
  ['one letter', 'H', false],
  ['garbage', '\0\x01\x02', false],
  ['a TLS alert', '\x15\x03\x01\x00\x02\x02\x28', true],
];

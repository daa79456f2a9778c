import { createServer, type Server, validateHeaderValue } from 'node:http';
import { connect, Socket, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AnswerStream, LaneResponse } from '../../../../src/http/front/lane.ts';
import { DirectResponse } from '../../../../src/http/front/response.ts';
import { ChunkedBody } from '../../../../src/engine/wire/chunked-body.ts';
import { FrontServer, requestOf } from './front-server.ts';

const KEEP_ALIVE_MS = 5_000;

type Script = (response: AnswerStream) => unknown;

let front: FrontServer;
let node: Server;
let script: Script;
let closes: number;

beforeAll(async () => {
  front = new FrontServer(undefined, KEEP_ALIVE_MS);
  await front.listen();
  front.take = (_request, response) => {
    run(response);
    return true;
  };
  node = createServer((_request, response) => run(response as AnswerStream));
  node.keepAliveTimeout = KEEP_ALIVE_MS;
  node.listen(0, '127.0.0.1');
  await once(node, 'listening');
});

afterAll(async () => {
  await front.close();
  node.close();
});

function run(response: AnswerStream): void {
  closes = 0;
  response.on('close', () => closes++);
  script(response);
}

/** All that a server sends for one request, but for the date. */
async function wireOf(server: Server, answer: Script): Promise<Buffer> {
  script = answer;
  const { port } = server.address() as AddressInfo;
  const pieces: Buffer[] = [];
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  socket.on('data', (piece: Buffer) => pieces.push(piece)).on('error', () => undefined);
  // Both let who says no more have the answer that is given by then.
  socket.end(requestOf('/'));
  await once(socket, 'close');
  expect(closes).toBe(1);
  return Buffer.from(
    Buffer.concat(pieces)
      .toString('latin1')
      .replace(/\r\nDate: [^\r]{29}\r\n/, '\r\nDate: now\r\n'),
    'latin1',
  );
}

async function expectSame(answer: Script): Promise<Buffer> {
  const wire = await wireOf(front.server, answer);
  expect(wire.equals(await wireOf(node, answer)), wire.toString('latin1', 0, 500)).toBe(true);
  return wire;
}

/** The head, and the body without its framing. */
function unframed(wire: Buffer): [string, Buffer] {
  const end = wire.indexOf('\r\n\r\n') + 4;
  const head = wire.toString('latin1', 0, end);
  const body = Buffer.from(wire.subarray(end));
  if (!head.includes('Transfer-Encoding: chunked')) return [head, body];
  const chunked = new ChunkedBody();
  const { length, read } = chunked.compact(body);
  expect([chunked.done, read]).toEqual([true, body.length]);
  return [head, body.subarray(0, length)];
}

const bytesOf = (size: number): Buffer => Buffer.alloc(size, 'abcdefghijklmnopqrstuvwxyz');
const size = fc.oneof(
  { weight: 4, arbitrary: fc.nat(300) },
  fc.constantFrom(0, 16_383, 32_768, 32_769, 65_537, 200_000),
);
const step: fc.Arbitrary<number | 'cork' | 'uncork'> = fc.oneof(
  { weight: 4, arbitrary: size },
  { weight: 1, arbitrary: fc.constant('cork' as const) },
  { weight: 1, arbitrary: fc.constant('uncork' as const) },
);
const answer = fc.record({
  status: fc.constantFrom(200, 200, 200, 201, 204, 304, 404, 503, 299),
  headers: fc.array(
    fc.tuple(fc.constantFrom('content-type', 'X-Own', 'etag', 'x-request-id'), fc.constantFrom('a', '', ' a b', '"é"')),
    { maxLength: 4 },
  ),
  byName: fc.boolean(),
  known: fc.boolean(),
  steps: fc.array(step, { maxLength: 6 }),
  last: fc.oneof(fc.constant(undefined), size, fc.constantFrom('', 'text', 'é€')),
});
type AnswerOf<T> = T extends fc.Arbitrary<infer V> ? V : never;

/** A string behind a head is what Node's server sends in the encoding of the string, the head included. */
function isAlike({ headers, last }: AnswerOf<typeof answer>): boolean {
  return typeof last !== 'string' || !headers.some(([, value]) => value.includes('é'));
}

function play({ status, headers, byName, known, steps, last }: AnswerOf<typeof answer>, raw: AnswerStream): void {
  const bytes = typeof last === 'string' ? Buffer.byteLength(last) : (last ?? 0);
  const length = steps.reduce<number>((sum, step) => sum + (typeof step === 'number' ? step : 0), bytes);
  const list = [...headers, ...(known ? [['Content-Length', String(length)] as const] : [])];
  raw.writeHead(status, byName ? Object.fromEntries(list) : list.flat());
  let corked = 0;
  for (const step of steps) {
    if (typeof step === 'number') raw.write(bytesOf(step));
    else if (step === 'cork' || corked > 0) {
      raw[step]();
      corked += step === 'cork' ? 1 : -1;
    }
  }
  raw.end(typeof last === 'number' ? bytesOf(last) : last);
  for (; corked > 0; corked--) raw.uncork();
}

function bodyOf({ status, steps, last = 0 }: AnswerOf<typeof answer>): Buffer {
  if (status === 204 || status === 304) return Buffer.alloc(0);
  const pieces = steps.map((step) => (typeof step === 'number' ? bytesOf(step) : Buffer.alloc(0)));
  return Buffer.concat([...pieces, typeof last === 'number' ? bytesOf(last) : Buffer.from(last)]);
}

describe('an answer of a lane', () => {
  it('is on the wire what Node’s own would be', async () => {
    await fc.assert(
      fc.asyncProperty(answer.filter(isAlike), async (answer) => {
        const [ours, theirs] = [
          await wireOf(front.server, (raw) => play(answer, raw)),
          await wireOf(node, (raw) => play(answer, raw)),
        ];
        const [head, body] = unframed(ours);
        expect(body.equals(bodyOf(answer))).toBe(true);
        // Node's puts what is written while it is corked into one chunk, or behind the last one where an empty piece was the first.
        if (answer.steps.includes('cork')) expect(theirs.toString('latin1', 0, head.length)).toBe(head);
        else expect(ours.equals(theirs), ours.toString('latin1', 0, 300)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it.each([1, 70_000])('has headers of one byte a letter, also before a text: %d letters', async (letters) => {
    const value = 'é'.repeat(letters);
    const wire = await wireOf(front.server, (raw) => {
      raw.writeHead(200, { 'x-own': value });
      raw.end('€');
    });
    expect(wire.includes(Buffer.from(`\r\nx-own: ${value}\r\n`, 'latin1'))).toBe(true);
    expect(wire.includes(Buffer.from('\r\n3\r\n€\r\n0\r\n\r\n'))).toBe(true);
    await expectSame((raw) => {
      raw.writeHead(200, { 'x-own': value });
      raw.end(Buffer.from('€'));
    });
  });

  it('has the lines of two lists as of one, however often the first was there', async () => {
    const constant = ['x-a', '1', 'x-b', '2'];
    for (const own of [['x-c', '3'], [], ['content-length', '1'], ['Content-Length', '1', 'x-d', '4']]) {
      const wire = await wireOf(front.server, (raw) => {
        (raw as LaneResponse).writeHeadOf(200, constant, own);
        raw.end('x');
      });
      const one = await wireOf(node, (raw) => {
        raw.writeHead(200, [...constant, ...own]);
        raw.end('x');
      });
      expect(wire.toString()).toBe(one.toString());
    }
    const wire = await wireOf(front.server, (raw) => {
      (raw as LaneResponse).writeHeadOf(200, ['content-length', '1'], ['x-c', '3']);
      raw.end('x');
    });
    expect(wire.toString()).not.toMatch('chunked');
  });

  it('refuses the header values that Node’s own refuses, and sends another answer then', async () => {
    const value = fc.oneof(
      fc.constantFrom('a\r\nb: c', 'a\nb', 'a\rb', '\0', '\x7f', '\x1f', '\t', 'ÿ', 'Ā'),
      fc.string(),
    );
    await fc.assert(
      fc.asyncProperty(value, fc.constantFrom('list', 'record', 'constant', 'own'), async (value, way) => {
        let refused = false;
        await wireOf(front.server, (raw) => {
          try {
            if (way === 'list') raw.writeHead(200, ['x-own', value]);
            else if (way === 'record') raw.writeHead(200, { 'x-own': value });
            else if (way === 'own') (raw as LaneResponse).writeHeadOf(200, [], ['x-own', value]);
            else (raw as LaneResponse).writeHeadOf(200, ['x-own', value], []);
          } catch {
            refused = true;
            expect(raw.headersSent).toBe(false);
            raw.writeHead(500, []);
          }
          raw.end('x');
        });
        expect(refused).toBe(isRefusedByNode(value));
      }),
      { numRuns: 100 },
    );
  });

  it.each(['a\r\nb', 'a\nb', 'é\0', 'a\rb', 'a:b', 'a b', '', 'é'])('refuses the header name %j', (name) => {
    const response = new DirectResponse(new Socket(), { idleMs: 0, said: '' }, () => undefined);
    expect(() => response.writeHead(200, [name, 'x'])).toThrow(TypeError);
    expect(() => response.writeHead(200, { [name]: 'x' })).toThrow(TypeError);
    expect(() => response.writeHeadOf(200, [name, 'x'], [])).toThrow(TypeError);
    expect(response.headersSent).toBe(false);
  });

  it('has one head, and none behind its body', () => {
    const response = new DirectResponse(new Socket(), { idleMs: 0, said: '' }, () => undefined);
    expect(() => response.write(Buffer.from('x'))).toThrow(TypeError);
    expect(() => response.end()).toThrow(TypeError);
    const other = new DirectResponse(new Socket(), { idleMs: 0, said: '' }, () => undefined);
    other.writeHead(200, []);
    expect(() => other.writeHead(200, [])).toThrow(TypeError);
    expect(() => other.writeHeadOf(200, [], [])).toThrow(TypeError);
  });
});

function isRefusedByNode(value: string): boolean {
  try {
    validateHeaderValue('x-own', value);
    return false;
  } catch {
    return true;
  }
}

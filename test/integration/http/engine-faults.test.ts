import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GatewayProcess } from '../../support/gateway-process.ts';
import { ConnectionEnded, type RawAnswer, RawClient } from '../../support/raw-client.ts';
import { answerBytes, StubEngine } from '../../support/stub-engine.ts';
import {
  answerMarker,
  type AnswerPlan,
  authorized,
  differences,
  KB,
  markerOf,
  nextMarker,
  type Way,
  WAYS,
} from './answers.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';
import { once } from '../../support/once.ts';

// An engine that violates HTTP: its response becomes 502, or is aborted if it has begun; its bytes never reach another request.

const STOLEN = 'STOLEN';
const STOLEN_ANSWER = answerBytes({ body: `{"${STOLEN}":true}` });
const head = (...lines: readonly string[]): string => `${['HTTP/1.1 200 OK', ...lines].join('\r\n')}\r\n\r\n`;
const TYPE = 'Content-Type: application/json';

/** The engine's behaviour instead of a response. `good` is the whole valid one. Resolves when the next request may be sent. */
type Fault = (socket: Socket, good: Buffer) => unknown;
const bytes = (text: string | Buffer): Fault => {
  return (socket) => socket.write(text);
};
const thenEnd = (text: string): Fault => {
  return (socket) => socket.end(text);
};
const thenReset = (text: string): Fault => {
  return (socket) => {
    socket.write(text, () => setImmediate(() => socket.resetAndDestroy()));
  };
};

/** Faults within a response: the client must not get it as a complete one. */
const BROKEN: Readonly<Record<string, Fault>> = {
  'ends without a byte': thenEnd(''),
  'resets without a byte': (socket) => socket.resetAndDestroy(),
  'ends within the status line': thenEnd('HTTP/1.1 20'),
  'ends within the head': thenEnd('HTTP/1.1 200 OK\r\nContent-Le'),
  'resets within the head': thenReset('HTTP/1.1 200 OK\r\nContent-Le'),
  'ends before the body': thenEnd(head(TYPE, 'Content-Length: 10')),
  'ends within the body': thenEnd(`${head(TYPE, 'Content-Length: 100')}{"a":1`),
  'resets within the body': thenReset(`${head(TYPE, 'Content-Length: 100')}{"a":1`),
  'ends within a large body': thenEnd(`${head(TYPE, `Content-Length: ${200 * KB}`)}${'x'.repeat(100 * KB)}`),
  'resets within a large body': thenReset(`${head(TYPE, `Content-Length: ${200 * KB}`)}${'x'.repeat(100 * KB)}`),
  'ends before the first chunk': thenEnd(head(TYPE, 'Transfer-Encoding: chunked')),
  'ends within a chunk': thenEnd(`${head(TYPE, 'Transfer-Encoding: chunked')}64\r\n{"a":1`),
  'ends between chunks': thenEnd(`${head(TYPE, 'Transfer-Encoding: chunked')}6\r\n{"a":1\r\n`),
  'ends before the last line': thenEnd(`${head(TYPE, 'Transfer-Encoding: chunked')}7\r\n{"a":1}\r\n0\r\n`),
  'resets between large chunks': thenReset(
    `${head(TYPE, 'Transfer-Encoding: chunked')}${(100 * KB).toString(16)}\r\n${'x'.repeat(100 * KB)}\r\n`,
  ),
  'sends a chunk of no size': bytes(`${head(TYPE, 'Transfer-Encoding: chunked')}x\r\n{}\r\n0\r\n\r\n`),
  'sends a chunk of a negative size': bytes(`${head(TYPE, 'Transfer-Encoding: chunked')}-2\r\n{}\r\n0\r\n\r\n`),
  'sends a chunk that is longer than its size': bytes(
    `${head(TYPE, 'Transfer-Encoding: chunked')}2\r\n{"a":1}\r\n0\r\n\r\n`,
  ),
  'sends a chunk of a huge size': bytes(
    `${head(TYPE, 'Transfer-Encoding: chunked')}ffffffffffffffffff\r\n{}\r\n0\r\n\r\n`,
  ),
  'sends a length and chunks': bytes(
    `${head(TYPE, 'Content-Length: 2', 'Transfer-Encoding: chunked')}2\r\n{}\r\n0\r\n\r\n`,
  ),
  'sends two lengths': bytes(`${head(TYPE, 'Content-Length: 2', 'Content-Length: 20')}{}`),
  'sends a negative length': bytes(`${head(TYPE, 'Content-Length: -2')}{}`),
  'sends a length that is no number': bytes(`${head(TYPE, 'Content-Length: 2x')}{}`),
  'sends a length beyond numbers': bytes(`${head(TYPE, 'Content-Length: 99999999999999999999')}{}`),
  'sends another protocol': bytes('SSH-2.0-OpenSSH_9.9\r\n'),
  'sends HTTP/2': bytes('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  'sends HTTP/0.9': thenEnd('{"a":1}'),
  'sends a status of two digits': bytes('HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n'),
  'sends a status that is no number': bytes('HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n'),
  'switches protocols unasked': bytes(
    'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nxyz',
  ),
  'sends a NUL in a header': bytes(`${head(TYPE, 'X-A: a\0b', 'Content-Length: 2')}{}`),
  'sends a space in the name of a header': bytes(`${head(TYPE, 'X A: b', 'Content-Length: 2')}{}`),
  'sends a head of 1 MB': bytes(`${head(TYPE, `X-A: ${'x'.repeat(1024 * KB)}`, 'Content-Length: 2')}{}`),
  'sends 100,000 headers': bytes(
    `${head(TYPE, ...Array.from({ length: 100_000 }, (_, i) => `X-${i}: 1`), 'Content-Length: 2')}{}`,
  ),
};

/** Detected only where the gateway parses the response. */
const UNREADABLE: Readonly<Record<string, Fault>> = {
  'says gzip and sends text': bytes(`${head(TYPE, 'Content-Encoding: gzip', 'Content-Length: 7')}{"a":1}`),
};

/** Faults around a valid response: the client gets all of it or an error, and never the additional bytes. */
const SURPLUS: Readonly<Record<string, Fault>> = {
  'sends two answers at once': (socket, good) => socket.write(Buffer.concat([good, STOLEN_ANSWER])),
  'sends five answers at once': (socket, good) =>
    socket.write(Buffer.concat([good, ...Array.from({ length: 5 }, () => STOLEN_ANSWER)])),
  'sends another answer after its own': async (socket, good) => {
    socket.write(good);
    setImmediate(() => socket.write(STOLEN_ANSWER));
    await closed(socket);
  },
  'sends the begin of another answer': (socket, good) =>
    socket.write(Buffer.concat([good, STOLEN_ANSWER.subarray(0, 30)])),
  'sends bytes beyond the length': (socket, good) => socket.write(Buffer.concat([good, Buffer.from(STOLEN)])),
  'sends line ends beyond the length': (socket, good) => socket.write(Buffer.concat([good, Buffer.from('\r\n\r\n')])),
  'sends 408 unasked': async (socket, good) => {
    socket.write(good);
    setImmediate(() => socket.end(answerBytes({ status: 408, body: STOLEN })));
    await closed(socket);
  },
  'sends 1xx before it': (socket, good) =>
    socket.write(Buffer.concat([Buffer.from('HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n'), good])),
  'sends 100 twice before it': (socket, good) =>
    socket.write(Buffer.concat([Buffer.from('HTTP/1.1 100 Continue\r\n\r\n'.repeat(2)), good])),
  'sends 204 with a body': bytes(`HTTP/1.1 204 No Content\r\n\r\n${STOLEN_ANSWER.toString()}`),
  'sends 304 with a body': bytes(`HTTP/1.1 304 Not Modified\r\n\r\n${STOLEN_ANSWER.toString()}`),
  'closes after it without a word': (socket, good) => socket.end(good),
  'resets after it': async (socket, good) => {
    socket.write(good, () => setImmediate(() => socket.resetAndDestroy()));
    await closed(socket);
  },
};

/** Waits until the gateway has closed a connection with unrequested bytes. Until then a request on it could get a foreign response. */
async function closed(socket: Socket): Promise<void> {
  if (!socket.destroyed) await once(socket, 'close', { signal: AbortSignal.timeout(WAIT_LIMIT_MS) });
}

let engine: StubEngine;
let gateway: GatewayProcess;
/** Runs instead of the response to a marker. */
const faults = new Map<string, Fault>();
let pending: Promise<unknown> = Promise.resolve();

beforeAll(async () => {
  engine = new StubEngine(['orders_OFFLINE']);
  engine.responder = (request, socket) => {
    const marker = markerOf(request);
    const answer = answerMarker(request, socket);
    const fault = marker === undefined ? undefined : faults.get(marker);
    if (fault === undefined || answer === undefined) return answer;
    // A failure is reported where it is awaited.
    pending = Promise.resolve(fault(socket, answerBytes(answer)));
    pending.catch(() => undefined);
    return undefined;
  };
  await engine.listen();
  gateway = await GatewayProcess.start({ controllers: engine.url, flags: { 'query-timeout': '10s' } });
});
afterAll(async () => {
  await gateway?.stop();
  await engine?.close();
});

const PLAN: AnswerPlan = { bytes: 300, framing: 'length' };
const WAYS_TRIED = WAYS.filter(({ name }) =>
  ['POST /query/sql', 'POST /sql', 'GET /query/sql', 'GET an instance'].includes(name),
);

/** One request whose response has the fault. @returns undefined if the connection ended instead of a response */
async function askFaulty(client: RawClient, way: Way, fault: Fault): Promise<{ marker: string; answer?: RawAnswer }> {
  const marker = nextMarker(PLAN);
  faults.set(marker, fault);
  try {
    return { marker, answer: await client.request(authorized(gateway, way.request(marker))) };
  } catch (error) {
    if (error instanceof ConnectionEnded) return { marker };
    throw error;
  } finally {
    faults.delete(marker);
  }
}

/** Further requests, on the same connection and on others, get their own responses. */
async function expectOwnAnswers(client: RawClient, way: Way): Promise<void> {
  const wrong: string[] = [];
  const ask = async (connection: RawClient) => {
    const marker = nextMarker(PLAN);
    wrong.push(...differences(marker, await connection.request(authorized(gateway, way.request(marker)))));
  };
  const others = await Promise.all([1, 2, 3].map(() => RawClient.open(gateway.port)));
  for (const connection of client.ended ? others : [client, ...others]) {
    await ask(connection);
    await ask(connection);
    wrong.push(...(connection.unread === 0 ? [] : [`${connection.unread} bytes after an answer`]));
    connection.destroy();
  }
  expect(wrong).toEqual([]);
}

const GATEWAY_FAILURES = [502, 503, 504];

function faultsOf(way: Way): Readonly<Record<string, Fault>> {
  return way.name.includes('sql') ? { ...BROKEN, ...UNREADABLE } : BROKEN;
}

describe.each(WAYS_TRIED)('$name', (way) => {
  it.each(Object.entries(faultsOf(way)))('is 502 or aborted when the engine %s', async (_name, fault) => {
    const client = await RawClient.open(gateway.port);
    const { answer } = await askFaulty(client, way, fault);
    if (answer !== undefined) {
      const text = answer.body.subarray(0, 300).toString();
      expect(GATEWAY_FAILURES, `${answer.status} ${text}`).toContain(answer.status);
      expect(JSON.parse(answer.body.toString())).toMatchObject({ status: answer.status });
    }
    await expectOwnAnswers(client, way);
  });

  it.each(Object.entries(SURPLUS))('gets its own response or 502 when the engine %s', async (_name, fault) => {
    const client = await RawClient.open(gateway.port);
    for (let turn = 0; turn < 3 && !client.ended; turn++) {
      const { marker, answer } = await askFaulty(client, way, fault);
      await pending;
      if (answer === undefined) break;
      expect(answer.body.toString()).not.toContain(STOLEN);
      if (answer.status === 200) expect(differences(marker, answer)).toEqual([]);
      else expect([204, 304, ...GATEWAY_FAILURES]).toContain(answer.status);
    }
    await expectOwnAnswers(client, way);
  });
});

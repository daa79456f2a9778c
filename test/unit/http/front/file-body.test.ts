import { closeSync, openSync, readSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FileBody } from '../../../../src/http/front/file-body.ts';
import { type FileSender, loadFileSender } from '../../../../src/http/front/file-sender.ts';
import type { LaneResponse } from '../../../../src/http/front/lane.ts';
import type { FileRows, RowFile } from '../../../../src/query/result-store.ts';
import { newCertificate } from './certificate.ts';
import { type Client, FrontServer, requestOf } from './front-server.ts';

/** More than the sockets between the two hold. */
const LARGE = 16 * 1024 * 1024;
const bytes = Buffer.alloc(LARGE);
for (let at = 0; at < LARGE; at += 4) bytes.writeUInt32LE(Math.imul(at, 0x9e3779b1) >>> 0, at);

const system = await loadFileSender();

let folder: string;
let descriptor: number;
let front: FrontServer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-file-body-'));
  await writeFile(join(folder, 'rows'), bytes);
  descriptor = openSync(join(folder, 'rows'), 'r');
});

afterAll(async () => {
  closeSync(descriptor);
  await rm(folder, { recursive: true });
});

const file: RowFile = {
  readNow: (from, to) => bytes.subarray(from, to),
  send: (from, to, by) => by(descriptor, from, to),
  async readInto(buffer, from, to) {
    return buffer.subarray(0, readSync(descriptor, buffer, 0, to - from, from));
  },
};

interface Sent {
  readonly response: LaneResponse;
  ends: string[];
}

/** What a lane would send, between a head and a tail. */
function send(response: LaneResponse, rows: FileRows, headers: object = {}): Sent {
  const sent: Sent = { response, ends: [] };
  const length = 5 + (rows.to - rows.from) + 5;
  response.writeHead(200, { ...headers, 'content-length': length });
  response.cork();
  response.write(Buffer.from('head:'));
  response.writeFile(rows, {
    sent: () => {
      sent.ends.push('sent');
      response.end(Buffer.from(':tail'));
    },
    failed: (error) => {
      sent.ends.push(String(error));
      response.destroy();
    },
  });
  return sent;
}

const expected = (from: number, to: number): string => `head:${bytes.toString('latin1', from, to)}:tail`;

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await turn();
}

describe.skipIf(system === undefined)('files that the system sends', () => {
  const sender = system as FileSender;
  let limits: FileSender;
  let sents: Sent[];
  let client: Client;
  let rows: FileRows;

  beforeEach(async () => {
    limits = sender;
    sents = [];
    rows = { file, from: 100, to: 3_000_000 };
    front = await new FrontServer(undefined, 5_000, {
      head: (socket, head) => limits.head(socket, head),
      file: (socket, ...range) => limits.file(socket, ...range),
    }).listen();
    front.take = (request, response) => {
      if (request.url !== '/lane/file') return request.url.startsWith('/lane') && front.answer(request, response);
      sents.push(send(response, rows));
      return true;
    };
    client = await front.client();
  });

  afterEach(async () => {
    await front.close();
    expect(front.defects).toEqual([]);
  });

  async function ask(): Promise<string> {
    await client.send(requestOf('/lane/file'));
    const [answer] = await client.next();
    return answer?.body ?? 'none';
  }

  it('arrive whole, one answer behind the other, between others', async () => {
    for (let i = 0; i < 3; i++) {
      expect((await ask()) === expected(100, 3_000_000)).toBe(true);
      expect(await client.ask(requestOf('/lane/small'))).toBe('lane GET /lane/small ');
      expect(await client.ask(requestOf('/node'))).toBe('node GET /node ');
    }
    await until(() => sents.every(({ response }) => response.writableFinished));
    expect(sents.map(({ ends }) => ends)).toEqual([['sent'], ['sent'], ['sent']]);
  });

  it('go out with their head, and without being read', async () => {
    let heads = 0;
    limits = {
      head: (socket, head) => {
        heads++;
        expect(Buffer.from(head).toString('latin1')).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*\r\n\r\nhead:$/);
        return sender.head(socket, head);
      },
      file: (socket, ...range) => sender.file(socket, ...range),
    };
    const unread: RowFile = { ...file, readInto: () => Promise.reject(new Error('read')) };
    // Less than any socket holds.
    rows = { file: unread, from: 7, to: 20_007 };
    expect(await ask()).toBe(expected(7, 20_007));
    expect(heads).toBe(1);
  });

  it('arrive whole however little the system takes at once, of the file or of the head', async () => {
    const takes = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 200_000 })), { minLength: 1 });
    const range = fc.tuple(fc.nat(100_000), fc.integer({ min: 1, max: 400_000 }));
    await fc.assert(
      fc.asyncProperty(takes, range, fc.nat(60), async (taken, [from, length], ofHead) => {
        let calls = 0;
        limits = {
          head: (socket, head) => (ofHead === 0 ? 0 : sender.head(socket, head.subarray(0, ofHead))),
          file(socket, out, at, to) {
            const most = taken[calls++ % taken.length] as number;
            return most === 0 ? 0 : sender.file(socket, out, at, Math.min(to, at + most));
          },
        };
        rows = { file, from, to: from + length };
        expect((await ask()) === expected(from, from + length)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it('wait for a client that takes nothing, and hold no more of the file than a piece', async () => {
    let held = 0;
    const watched: RowFile = {
      ...file,
      readInto(buffer, from, to) {
        held = Math.max(held, buffer.length);
        return file.readInto(buffer, from, to);
      },
    };
    rows = { file: watched, from: 0, to: LARGE };
    client.socket.pause();
    await client.send(requestOf('/lane/file'));
    await client.settle();
    expect(sents[0]?.ends).toEqual([]);
    expect(client.served.writableLength).toBeLessThanOrEqual(64 * 1024);
    client.socket.resume();
    const [answer] = await client.next();
    expect(answer?.body === expected(0, LARGE)).toBe(true);
    expect(sents[0]?.ends).toEqual(['sent']);
    expect(held).toBeLessThanOrEqual(64 * 1024);
  });

  it.each([
    ['the client', 20, (one: Client) => one.socket.resetAndDestroy()],
    ['the lane', 20, () => sents.at(-1)?.response.destroy()],
    ['the server', 1, () => front.server.closeAllConnections()],
  ])('are left alone once %s has broken off', async (_who, times, breakOff) => {
    let calls = 0;
    limits = {
      head: (socket, head) => sender.head(socket, head),
      file(socket, ...range) {
        calls++;
        return sender.file(socket, ...range);
      },
    };
    rows = { file, from: 0, to: LARGE };
    for (let i = 0; i < times; i++) {
      const one = await front.client();
      one.socket.pause();
      await one.send(requestOf('/lane/file'));
      const sent = sents.at(-1);
      if (sent === undefined) throw new Error('nothing was sent');
      let closes = 0;
      sent.response.on('close', () => closes++);
      breakOff(one);
      await until(() => closes > 0);
      const before = calls;
      await one.settle();
      expect([calls, closes, sent.ends]).toEqual([before, 1, []]);
    }
  });

  it('have one turn of the event loop for a few megabytes, and none once the answer is over', async () => {
    const turns: number[] = [];
    limits = {
      head: (_socket, head) => head.length,
      file(_socket, _descriptor, from, to) {
        turns.push(to - from);
        return to - from;
      },
    };
    rows = { file, from: 0, to: LARGE };
    await client.send(requestOf('/lane/file'));
    await until(() => turns.length >= 2);
    sents[0]?.response.destroy();
    const before = turns.length;
    await client.settle();
    expect(turns.length).toBeLessThanOrEqual(before);
    expect(turns.every((size) => size === 4 * 1024 * 1024)).toBe(true);
    expect(sents[0]?.ends).toEqual([]);
  });

  it('break the answer off where the file cannot be read, short of the length that was told', async () => {
    const failing: RowFile = { ...file, readInto: () => Promise.reject(new Error('the disk is gone')) };
    rows = { file: failing, from: 0, to: LARGE };
    limits = { head: () => 0, file: () => 0 };
    await client.send(requestOf('/lane/file'));
    await client.over();
    expect(client.answers).toEqual([]);
    expect(sents[0]?.ends).toEqual(['Error: the disk is gone']);
  });

  it('are not for answers of unknown length', async () => {
    const thrown: unknown[] = [];
    front.take = (_request, response) => {
      response.writeHead(200, {});
      try {
        response.writeFile(rows, { sent: () => undefined, failed: () => undefined });
      } catch (error) {
        thrown.push(error);
      }
      response.end();
      return true;
    };
    await ask();
    expect(thrown).toEqual([expect.any(TypeError)]);
  });
});

describe('a socket that still has something to send', () => {
  it('is written to behind it, and not past it, until it has none', async () => {
    const order: string[] = [];
    const socket = {
      destroyed: false,
      writableLength: 5,
      write(piece: Uint8Array, done: () => void) {
        order.push(`write ${piece.length}`);
        setImmediate(() => {
          socket.writableLength = 0;
          done();
        });
      },
    };
    const past: FileSender = {
      head: () => 0,
      file(_socket, _descriptor, from, to) {
        order.push(`send ${from} ${to}`);
        return to - from;
      },
    };
    await new Promise<void>((sent) => {
      const rows = { file, from: 0, to: 100_000 };
      new FileBody(socket as unknown as Socket, rows, past, { sent, failed: () => undefined }).send();
    });
    expect(order).toEqual(['write 65536', 'send 65536 100000']);
  });
});

describe.skipIf(system === undefined)('a connection that is encrypted', () => {
  it('has no file sent past what encrypts it', async () => {
    front = await new FrontServer(await newCertificate(), 5_000, system).listen();
    const says: boolean[] = [];
    front.take = (request, response) => {
      says.push(response.sendsFiles);
      return front.answer(request, response);
    };
    const client = await front.client();
    expect(await client.ask(requestOf('/lane'))).toBe('lane GET /lane ');
    expect(says).toEqual([false]);
    await front.close();
  });
});

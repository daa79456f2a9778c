import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { Exchange, WireFlow, WireRequest } from '../../../../src/engine/wire/exchange.ts';
import { WirePool } from '../../../../src/engine/wire/pool.ts';
import type { ResponseHead } from '../../../../src/engine/wire/response-head.ts';
import { releasePiece } from '../../../../src/engine/wire/slabs.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A server that is told of the text of each request with its connection's number, and answers by hand. */
async function serve(answer: (socket: Socket, text: string, connection: number) => void): Promise<string> {
  let connections = 0;
  const server: Server = createServer((socket) => {
    const number = ++connections;
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => answer(socket, bytes.toString('latin1'), number));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function poolOf(url: string, connections = 2): WirePool {
  const pool = new WirePool(url, { connections, connectTimeoutMs: 1000 });
  closers.push(() => pool.close());
  return pool;
}

/** Collects an answer. */
class Collected implements Exchange {
  connection: WireFlow | undefined;
  readonly request: WireRequest;
  head: ResponseHead | undefined;
  body = '';
  pieces = 0;
  late = false;
  /** After how many pieces to hold the rest. */
  holdAfter = Infinity;
  readonly #over = Promise.withResolvers<string>();

  constructor(request: Partial<WireRequest> = {}) {
    this.request = {
      method: 'POST',
      path: '/query/sql',
      headers: ['accept', '*/*'],
      body: Buffer.from('{}'),
      repeatable: true,
      bodyTimeoutMs: 5000,
      deadline: Infinity,
      ...request,
    };
  }

  /** The body, or the message of what went wrong. */
  get over(): Promise<string> {
    return this.#over.promise;
  }
  onHead(head: ResponseHead): void {
    this.head = head;
  }
  onData(piece: Buffer): boolean {
    this.body += piece.toString('latin1');
    releasePiece(piece);
    return ++this.pieces < this.holdAfter;
  }
  onEnd(): void {
    this.#over.resolve(this.body);
  }
  onDeadline(): void {
    this.late = true;
  }
  onError(error: Error): void {
    this.#over.resolve(`error: ${error.message}`);
  }
}

function send(pool: WirePool, request: Partial<WireRequest> = {}): Collected {
  const exchange = new Collected(request);
  pool.send(exchange);
  return exchange;
}

const OK = 'HTTP/1.1 200 OK\r\n';

describe('requests by hand', () => {
  it('send the head and the body as they are', async () => {
    const texts: string[] = [];
    const url = await serve((socket, text) => {
      texts.push(text);
      socket.write(`${OK}Content-Length: 2\r\n\r\nhi`);
    });
    const asked = send(poolOf(url), { path: '/query/sql?x=%20', headers: ['X-A', 'b'], body: Buffer.from('{"é":1}') });
    expect(await asked.over).toBe('hi');
    const { host } = new URL(url);
    expect(texts).toEqual([
      `POST /query/sql?x=%20 HTTP/1.1\r\nhost: ${host}\r\nX-A: b\r\ncontent-length: 8\r\n\r\n${Buffer.from('{"é":1}').toString('latin1')}`,
    ]);
  });

  it('send a large body whole', async () => {
    const body = Buffer.alloc(300_000, 'x');
    let got = 0;
    const url = await serve((socket, text) => {
      got += text.length;
      if (got > body.length) socket.write(`${OK}Content-Length: 0\r\n\r\n`);
    });
    expect(await send(poolOf(url), { body }).over).toBe('');
    expect(got).toBeGreaterThan(body.length);
  });

  it.each([
    ['a line end in a header', { headers: ['a', 'b\r\nc: d'] }],
    ['a letter that is a line end on the wire', { headers: ['a', 'b\u010ac: d'] }],
    ['a space in the path', { path: '/query sql' }],
    ['a path that is none', { path: 'http://elsewhere/' }],
  ])('are not sent with %s', async (_what, request) => {
    let asked = 0;
    const url = await serve(() => asked++);
    expect(await send(poolOf(url), request).over).toMatch(/^error: .*holds what no/);
    expect(asked).toBe(0);
  });

  it('go one after another over one connection, and side by side over several', async () => {
    const used: number[] = [];
    const url = await serve((socket, _text, connection) => {
      used.push(connection);
      setTimeout(() => socket.write(`${OK}Content-Length: 2\r\n\r\nhi`), 20);
    });
    const pool = poolOf(url, 2);
    await send(pool).over;
    await send(pool).over;
    expect(used).toEqual([1, 1]);
    expect(await Promise.all([send(pool).over, send(pool).over, send(pool).over])).toEqual(['hi', 'hi', 'hi']);
    expect(new Set(used)).toEqual(new Set([1, 2]));
  });

  it('are sent once more where a kept connection has ended, if that does no harm', async () => {
    const used: number[] = [];
    const url = await serve((socket, _text, connection) => {
      used.push(connection);
      if (connection === 1 && used.length > 1) socket.destroy();
      else socket.write(`${OK}Content-Length: 2\r\n\r\nhi`);
    });
    const pool = poolOf(url);
    await send(pool).over;
    expect(await send(pool).over).toBe('hi');
    expect(used).toEqual([1, 1, 2]);
    used.splice(0);
    const fresh = poolOf(
      await serve((socket, _text, connection) => {
        used.push(connection);
        if (used.length > 1) socket.destroy();
        else socket.write(`${OK}Content-Length: 2\r\n\r\nhi`);
      }),
    );
    await send(fresh).over;
    expect(await send(fresh, { repeatable: false }).over).toMatch(/^error: /);
    expect(used).toEqual([1, 1]);
  });

  it('leave the line when they are given up, and end their connection when they are under way', async () => {
    let closed = 0;
    const url = await serve((socket) => socket.once('close', () => closed++));
    const pool = poolOf(url, 1);
    const first = send(pool);
    const second = send(pool);
    pool.abort(second, new Error('left'));
    expect(await second.over).toBe('error: left');
    await sleep(50);
    pool.abort(first, new Error('left, too'));
    expect(await first.over).toBe('error: left, too');
    await expect.poll(() => closed).toBe(1);
  });

  it('fail where nobody listens', async () => {
    const url = await serve(() => undefined);
    await closers.pop()?.();
    expect(await send(poolOf(url)).over).toMatch(/ECONNREFUSED/);
  });

  it('are given up when their time is over, in line too', async () => {
    const url = await serve(() => undefined);
    const pool = poolOf(url, 1);
    const both = [1, 2].map(() => send(pool, { deadline: performance.now() + 100 }));
    expect(await Promise.all(both.map(({ over }) => over))).toEqual(Array(2).fill('error: no answer in time'));
    expect(both.map(({ late }) => late)).toEqual([true, true]);
  });

  it('end with their pool', async () => {
    const url = await serve(() => undefined);
    const pool = poolOf(url, 1);
    const both = [send(pool), send(pool)];
    await sleep(30);
    pool.close();
    expect(await Promise.all(both.map(({ over }) => over))).toEqual(Array(2).fill('error: the pool was closed'));
    expect(await send(pool).over).toBe('error: the pool is closed');
  });
});

describe('answers by hand', () => {
  const answering = async (...parts: string[]) => {
    const url = await serve((socket) => {
      for (const [i, part] of parts.entries()) setTimeout(() => socket.write(part, 'latin1'), i * 15);
    });
    return poolOf(url);
  };

  it.each([
    ['in one piece', [`${OK}Content-Length: 4\r\n\r\nbody`]],
    ['in many pieces', ['HTT', 'P/1.1 200 OK\r\nContent-Le', 'ngth: 4\r\n\r', '\nbo', 'dy']],
    ['in chunks', [`${OK}Transfer-Encoding: chunked\r\n\r\n1\r\nb\r\n3`, '\r\nody\r\n0\r\n', '\r\n']],
    ['after one that only informs', ['HTTP/1.1 100 Continue\r\n\r\n', `${OK}Content-Length: 4\r\n\r\nbody`]],
    [
      'right after one that only informs',
      [`HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${OK}Content-Length: 4\r\n\r\nbody`],
    ],
  ])('come whole %s', async (_what, parts) => {
    const asked = send(await answering(...parts));
    expect(await asked.over).toBe('body');
    expect(asked.head?.status).toBe(200);
  });

  it('may end with their connection', async () => {
    const url = await serve((socket) => socket.end(`${OK}\r\nbody`));
    expect(await send(poolOf(url)).over).toBe('body');
  });

  it.each([
    ['ends early', [`${OK}Content-Length: 9\r\n\r\nbody`], true],
    ['ends within its chunks', [`${OK}Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n`], true],
    ['is no HTTP', ['hello there\r\n\r\n'], false],
    ['changes the protocol', ['HTTP/1.1 101 Switching Protocols\r\n\r\n'], false],
    ['has a head without end', [`${OK}A: ${'x'.repeat(70_000)}`], false],
  ])('are an error where one %s', async (_what, parts, ends) => {
    const url = await serve((socket) => {
      for (const part of parts) socket.write(part);
      if (ends) socket.end();
    });
    expect(await send(poolOf(url), { repeatable: false }).over).toMatch(/^error: /);
  });

  it('are not mistaken for the next one where more comes than was asked for', async () => {
    const used: number[] = [];
    const url = await serve((socket, _text, connection) => {
      used.push(connection);
      socket.write(`${OK}Content-Length: 4\r\n\r\nbody${OK}Content-Length: 4\r\n\r\nevil`);
    });
    const pool = poolOf(url);
    expect([await send(pool).over, await send(pool).over]).toEqual(['body', 'body']);
    expect(used).toEqual([1, 2]);
  });

  it('wait while they are held', async () => {
    const size = 8 * 1024 * 1024;
    let written = 0;
    const url = await serve((socket) => {
      socket.write(`${OK}Content-Length: ${size}\r\n\r\n`);
      const piece = Buffer.alloc(64 * 1024, 'x');
      const more = () => {
        while (written < size) {
          written += piece.length;
          if (!socket.write(piece)) return void socket.once('drain', more);
        }
      };
      more();
    });
    const pool = poolOf(url);
    const asked = new Collected();
    asked.holdAfter = 1;
    pool.send(asked);
    await expect.poll(() => asked.pieces).toBe(1);
    await sleep(100);
    expect(asked.pieces).toBe(1);
    asked.holdAfter = Infinity;
    asked.connection?.resume();
    expect((await asked.over).length).toBe(size);
  });

  it('keep the bytes of a piece that was not given back', async () => {
    const url = await serve((socket, text) => {
      const letter = text.slice(6, 7);
      socket.write(`${OK}Content-Length: 100000\r\n\r\n${letter.repeat(100_000)}`);
    });
    const pool = poolOf(url, 1);
    const LETTERS = 'abcdefgh'.split('');
    const kept: Buffer[] = [];
    class Keeping extends Collected {
      override onData(piece: Buffer): boolean {
        kept.push(piece);
        return true;
      }
    }
    for (const letter of LETTERS) {
      const asked = new Keeping({ path: `/${letter}` });
      pool.send(asked);
      await asked.over;
    }
    expect(Buffer.concat(kept).toString()).toBe(LETTERS.map((letter) => letter.repeat(100_000)).join(''));
  });

  it('are given up when the engine falls silent in the middle', async () => {
    const pool = await answering(`${OK}Content-Length: 9\r\n\r\nbody`);
    expect(await send(pool, { bodyTimeoutMs: 100 }).over).toMatch(/fell silent/);
  });
});

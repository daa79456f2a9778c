import { setTimeout as sleep } from 'node:timers/promises';
import Fastify from 'fastify';
import { Agent, request } from 'undici';
import { describe, expect, it } from 'vitest';
import { drain, listen } from '../../../src/http/server.ts';

describe('the end of a server', () => {
  it('fails no request of a client that keeps its connection', async () => {
    const app = Fastify();
    app.get('/', async () => 'well');
    const url = `http://127.0.0.1:${await listen(app, '127.0.0.1', 0)}/`;
    const dispatcher = new Agent({ connections: 1, pipelining: 1 });
    const ask = async (): Promise<unknown> => {
      const { statusCode, headers, body } = await request(url, { dispatcher });
      await body.dump();
      return [statusCode, headers['connection']];
    };
    try {
      expect(await ask()).toEqual([200, 'keep-alive']);
      const ended = drain(app, 10_000);
      await sleep(10);
      expect(await ask()).toEqual([200, 'close']);
      expect(await ended).toBe(true);
    } finally {
      await dispatcher.destroy();
    }
  });

  it('waits for nobody where nobody is connected', async () => {
    const app = Fastify();
    await listen(app, '127.0.0.1', 0);
    const begun = performance.now();
    expect(await drain(app, 10_000)).toBe(true);
    expect(performance.now() - begun).toBeLessThan(900);
  });
});

import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { listen } from '../../../../src/api/server/server.ts';
import { createLogger } from '../../../../src/platform/logging.ts';
import { testApp } from '../../../support/app.ts';

describe('a listener', () => {
  it('that cannot accept a connection goes on, with a limited number of log lines', async () => {
    const lines: string[] = [];
    const app = await testApp({
      register: async (scope) => void scope.get('/open', { config: { public: true } }, async () => ({ open: true })),
      parts: { logger: createLogger('warn', { write: (line) => void lines.push(line) }) },
    });
    const port = await listen(app, '127.0.0.1', 0);
    const error = Object.assign(new Error('accept EMFILE'), { code: 'EMFILE', syscall: 'accept' });
    for (let i = 0; i < 100; i++) app.server.emit('error', error);
    expect((await request(`http://127.0.0.1:${port}/open`)).statusCode).toBe(200);
    await app.close();
    expect(lines).toHaveLength(3);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      msg: 'a connection could not be accepted',
      err: { code: 'EMFILE' },
    });
  });

  it('outlives a write to a response after its end', async () => {
    const written = Promise.withResolvers<string | undefined>();
    const app = await testApp({
      register: async (scope) =>
        void scope.get('/late', { config: { public: true } }, async (_request, reply) => {
          reply.hijack();
          reply.raw.end('whole');
          reply.raw.write('more', (failed) => written.resolve((failed as NodeJS.ErrnoException | undefined)?.code));
        }),
    });
    const port = await listen(app, '127.0.0.1', 0);
    const { body } = await request(`http://127.0.0.1:${port}/late`);
    expect(await body.text()).toBe('whole');
    // Without a listener of its `error` event, the test run would fail with an uncaught exception.
    expect(await written.promise).toBe('ERR_STREAM_WRITE_AFTER_END');
    await app.close();
  });
});

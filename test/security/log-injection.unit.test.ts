import { Writable } from 'node:stream';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { FastifyInstance } from 'fastify';
import { createLogger } from '../../src/platform/logging.ts';
import { testApp, TEST_TOKEN } from '../support/app.ts';

// What a caller sends cannot begin a record of its own in the log, nor control the terminal of its reader.

const FORGED = '{"level":"info","msg":"forged"}';
const lines: string[] = [];
let app: FastifyInstance;

beforeAll(async () => {
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  });
  app = await testApp({
    parts: { logger: createLogger('debug', sink) },
    register: async (scope) => {
      scope.get<{ Params: { name: string } }>('/things/:name', async (request) => {
        // A cause as an engine or a store may give it: with the caller's text in it.
        throw new Error(`no such thing: ${request.params.name} ${String(request.headers['x-request-id'])}`);
      });
    },
  });
});
afterAll(() => app.close());

/** The records that a request has caused. */
async function recordsOf(name: string, id: string): Promise<unknown[]> {
  lines.length = 0;
  await app.inject({
    url: `/things/${encodeURIComponent(name)}`,
    headers: {
      authorization: `Bearer ${TEST_TOKEN}`,
      'x-request-id': id,
      'user-agent': name.replaceAll(/[^\x20-\x7e]/g, ''),
    },
  });
  const text = lines.join('');
  expect(text).toMatch(/\n$/);
  // Line ends only between records; no escape sequence of a terminal, and none of the line ends of Unicode.
  expect(text).not.toMatch(/[^\n\P{Cc}]|[\u2028\u2029]/u);
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}

it.each(['\n', '\r\n', '\r', '\u2028', '\u0085', '\u001b[2K', '"}\n', '\u0000'])(
  '%j in a path or header begins no record',
  async (end) => {
    const records = await recordsOf(`a${end}${FORGED}`, `r${end.replaceAll(/[^\x20-\x7e]/g, '')}${FORGED}`);
    expect(records.length).toBeGreaterThan(0);
    for (const record of records) expect(record).not.toMatchObject({ msg: 'forged' });
  },
);

it('any text in a path is in one record', async () => {
  const count = (await recordsOf('a', 'r-1')).length;
  const text = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 40 })
    .filter((one) => one.isWellFormed() && !/^\.+$/.test(one));
  await fc.assert(
    fc.asyncProperty(text, async (name) => {
      expect((await recordsOf(name, 'r-1')).length).toBeLessThanOrEqual(count);
    }),
    { numRuns: 200 },
  );
});

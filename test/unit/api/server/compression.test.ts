import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testApp } from '../../../support/app.ts';

const LONG = { items: Array.from({ length: 2000 }, (_, index) => `item ${index}`) };
const TEXT = JSON.stringify(LONG);

let app: FastifyInstance;

beforeAll(async () => {
  app = await testApp({
    register: async (scope) => {
      scope.get('/long', async () => LONG);
      scope.get('/short', async () => ({ items: [] }));
      scope.get('/tagged', async (_request, reply) => reply.header('etag', '"1"').send(LONG));
      scope.get('/binary', async (_request, reply) => reply.type('application/octet-stream').send(TEXT));
      scope.get('/failed', async (_request, reply) => reply.code(400).send(LONG));
      scope.post('/long', async () => LONG);
    },
  });
});
afterAll(() => app.close());

const ask = (url: string, accepted: string | undefined, method: 'GET' | 'POST' = 'GET') =>
  app.inject({ method, url, headers: accepted === undefined ? {} : { 'accept-encoding': accepted } });

describe('the compression of responses', () => {
  it.each([
    ['gzip', 'gzip', gunzipSync],
    ['gzip, deflate, br, zstd', 'zstd', zstdDecompressSync],
  ] as const)('follows Accept-Encoding: %s', async (accepted, coding, decompress) => {
    const answer = await ask('/long', accepted);
    expect(answer.headers).toMatchObject({ 'content-encoding': coding, vary: 'accept-encoding' });
    expect(answer.headers['content-type']).toContain('application/json');
    expect(Number(answer.headers['content-length'])).toBe(answer.rawPayload.length);
    expect(answer.rawPayload.length).toBeLessThan(TEXT.length / 2);
    expect(String(decompress(answer.rawPayload))).toBe(TEXT);
  });

  it.each([
    ['without Accept-Encoding', '/long', undefined, 'GET'],
    ['with another coding', '/long', 'br', 'GET'],
    ['with gzip refused', '/long', 'gzip;q=0', 'GET'],
    ['for a short response', '/short', 'gzip', 'GET'],
    ['for a version of a resource', '/tagged', 'gzip', 'GET'],
    ['for other content than text', '/binary', 'gzip', 'GET'],
    ['for an error', '/failed', 'gzip', 'GET'],
    ['for the response to a write, which can have a credential', '/long', 'gzip', 'POST'],
  ] as const)('does not happen %s', async (_case, url, accepted, method) => {
    const answer = await ask(url, accepted, method);
    expect(answer.headers['content-encoding']).toBeUndefined();
    if (url !== '/short') expect(answer.body).toBe(TEXT);
  });
});

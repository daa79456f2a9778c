import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { type PreparedResponse, prepareResponse, sendPrepared } from '../server/prepared-response.ts';
import { renderDocs, STYLE } from './page.ts';
import { openApiDocument } from './openapi.ts';

const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const NO_CACHE = { 'cache-control': 'no-cache' };

interface Prepared {
  readonly document: PreparedResponse;
  readonly page: PreparedResponse;
  readonly style: PreparedResponse;
}

async function prepare(app: FastifyInstance): Promise<Prepared> {
  const document = openApiDocument(app);
  const [json, page, style] = await Promise.all([
    prepareResponse(Buffer.from(JSON.stringify(document)), {
      ...NO_CACHE,
      'content-type': 'application/json; charset=utf-8',
    }),
    prepareResponse(Buffer.from(renderDocs(document)), {
      ...NO_CACHE,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': CONTENT_SECURITY_POLICY,
    }),
    prepareResponse(Buffer.from(STYLE), { ...NO_CACHE, 'content-type': 'text/css; charset=utf-8' }),
  ]);
  return { document: json, page, style };
}

/** Serves `/openapi.json`, and `/docs` as plain HTML without scripts. They are prepared once, on first use. */
export async function registerDocs(app: FastifyInstance): Promise<void> {
  let prepared: Promise<Prepared> | undefined;
  const get = (): Promise<Prepared> => (prepared ??= prepare(app));

  app.get(
    '/openapi.json',
    {
      config: { public: true },
      schema: {
        operationId: 'getOpenApi',
        'x-docs': { ok: 'The OpenAPI document.', response: { openapi: '3.1.0' } },
        tags: ['gateway'],
        summary: 'This document.',
        response: { 200: Type.Object({}, { additionalProperties: true, description: 'An OpenAPI 3.1 document.' }) },
      },
    },
    async (request, reply) => sendPrepared(request, reply, (await get()).document),
  );
  const publicRoute = { config: { public: true }, schema: { hide: true } };
  app.get('/docs', publicRoute, async (request, reply) => sendPrepared(request, reply, (await get()).page));
  app.get('/docs/style.css', publicRoute, async (request, reply) => sendPrepared(request, reply, (await get()).style));
}

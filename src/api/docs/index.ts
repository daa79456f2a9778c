import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { renderDocs, STYLE } from './page.ts';
import { openApiDocument } from './openapi.ts';

const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Serves `/openapi.json`, and `/docs` as plain HTML without scripts. Both are rendered once, on first use. */
export async function registerDocs(app: FastifyInstance): Promise<void> {
  let document: Record<string, unknown> | undefined;
  let page: string | undefined;
  const getDocument = (): Record<string, unknown> => (document ??= openApiDocument(app));

  app.get(
    '/openapi.json',
    {
      config: { public: true },
      schema: {
        operationId: 'getOpenApi',
        tags: ['gateway'],
        summary: 'This document.',
        response: { 200: Type.Object({}, { additionalProperties: true, description: 'An OpenAPI 3.1 document.' }) },
      },
    },
    async () => getDocument(),
  );
  const publicRoute = { config: { public: true }, schema: { hide: true } };
  app.get('/docs', publicRoute, async (_request, reply) => {
    page ??= renderDocs(getDocument());
    return reply.header('content-security-policy', CONTENT_SECURITY_POLICY).type('text/html; charset=utf-8').send(page);
  });
  app.get('/docs/style.css', publicRoute, async (_request, reply) => reply.type('text/css; charset=utf-8').send(STYLE));
}

import type { FastifyInstance } from 'fastify';
import { readJsonBody } from '../engine-proxy/sql-request.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The JSON body as it came, for the engine. */
    rawBody: Buffer | undefined;
  }
}

/**
 * Bodies are kept as they came beside what they say: the engine gets the caller's bytes, not a second printing of them. Like the engine, this takes
 * JSON under any content type.
 */
export function keepRawJson(app: FastifyInstance): void {
  app.decorateRequest('rawBody', undefined);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    try {
      const value = readJsonBody(request, body);
      request.rawBody = body;
      done(null, value);
    } catch (error) {
      done(error as Error, undefined);
    }
  });
}

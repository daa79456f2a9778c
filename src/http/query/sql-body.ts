import type { FastifyInstance } from 'fastify';
import { HttpError } from '../errors.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The JSON body as it came, for the engine. */
    rawBody: Buffer | undefined;
  }
}

/** JSON bodies are kept as they came beside what they say: the engine gets the caller's bytes, not a second printing of them. */
export function keepRawJson(app: FastifyInstance): void {
  app.decorateRequest('rawBody', undefined);
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    request.rawBody = body;
    try {
      done(null, JSON.parse(body.toString('utf8')));
    } catch {
      done(new HttpError(400, 'the body is not valid JSON: send an object such as `{"sql": "SELECT …"}`'), undefined);
    }
  });
}

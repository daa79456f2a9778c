import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';

const bodies = new WeakMap<IncomingMessage, Buffer>();

/** Lets a listener take a request from its beginning whose body was read already. */
export function replay(
  request: IncomingMessage,
  response: ServerResponse,
  body: Buffer,
  listener: (request: IncomingMessage, response: ServerResponse) => void,
): void {
  bodies.set(request, body);
  listener(request, response);
}

/** Has the routes of `app` read such a body once more. */
export function readReplayed(app: FastifyInstance): void {
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const body = bodies.get(request.raw);
    done(null, body === undefined ? payload : Readable.from([body]));
  });
}

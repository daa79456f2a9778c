import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';

/** Of routes without query parameters. */
export const NoQuerystring = Type.Object({}, { additionalProperties: false });

/**
 * Makes documented routes that are registered later reject unknown query parameters. Otherwise a misspelled parameter would be ignored silently.
 */
export function refuseUnknownParameters(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const { schema } = route;
    if (schema === undefined || schema.hide === true) return;
    const querystring = schema.querystring ?? NoQuerystring;
    route.schema = { ...schema, querystring: { ...querystring, additionalProperties: false } };
  });
}

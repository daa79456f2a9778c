import type { FastifySchema } from 'fastify';

/** An operation that fastify does not serve, for the OpenAPI document. */
export interface Operation {
  readonly method: 'GET' | 'POST';
  /** Route pattern in fastify syntax. */
  readonly url: string;
  readonly schema: FastifySchema;
}

import type { FastifySchema } from 'fastify';

/** An operation that fastify does not serve, for the OpenAPI document. */
export interface Operation {
  readonly method: 'GET' | 'POST';
  /** Route pattern in fastify syntax. */
  readonly url: string;
  readonly schema: FastifySchema;
}

/** Descriptions and examples of an operation in addition to its schemas, for the OpenAPI document. */
export interface OperationDocs {
  /** What the 2xx response has. */
  readonly ok: string;
  /** Example of the request body. */
  readonly request?: unknown;
  /** Example of the response body; required where the response has one. */
  readonly response?: unknown;
  /** Description and example of the response 202, where the operation has another 2xx response, too. */
  readonly accepted?: { readonly ok: string; readonly response: unknown };
  /** The same for the response 201. */
  readonly created?: { readonly ok: string; readonly response: unknown };
  /**
   * `tag`: sends `ETag`. `read`: also honours `If-None-Match`. `write`: also honours `If-Match`. `put`: and `If-None-Match: *`. `remove`: honours `If-Match` and sends none.
   */
  readonly versions?: 'tag' | 'read' | 'write' | 'put' | 'remove';
  /** Operations that can follow, by name. */
  readonly links?: Readonly<Record<string, Link>>;
}

/** An OpenAPI link object. */
export interface Link {
  readonly operationId: string;
  /** By parameter name; with `path.` or `query.` where the name alone is ambiguous. */
  readonly parameters?: Readonly<Record<string, string>>;
  readonly requestBody?: unknown;
  readonly description: string;
}

declare module 'fastify' {
  interface FastifySchema {
    /** Documents the operation; it is not a part of the OpenAPI document itself. */
    'x-docs'?: OperationDocs;
  }
}

import { Ajv, type ErrorObject } from 'ajv';
import formatsModule from 'ajv-formats';
import type { FastifySchemaCompiler, FastifySchemaValidationError } from 'fastify';
import { toValidationError } from '../resources/validation-message.ts';

/** What is wrong with a request; fastify turns it into a 400 with this message. */
export class RequestValidationError extends Error {
  readonly statusCode = 400;
  constructor(message: string) {
    super(message);
    this.name = 'RequestValidationError';
  }
}

const FORMATS = ['date-time', 'uri', 'email', 'int64'] as const;

function compiler(coerceTypes: false | 'array'): Ajv {
  const ajv = new Ajv({ coerceTypes, useDefaults: true, removeAdditional: false, strict: false, verbose: true });
  // The package is CommonJS: its function is the default export of its namespace.
  formatsModule.default(ajv, [...FORMATS]);
  return ajv;
}

/** Text arrives in a path or a query string and becomes a number there; a JSON body says itself what it means. */
const text = compiler('array');
const json = compiler(false);

const PLACES: Readonly<Record<string, string>> = {
  body: 'the body',
  querystring: 'the query string',
  params: 'the path',
  headers: 'the headers',
};

/** `$id` names a schema for the OpenAPI document; for ajv the same name twice would be an error. */
function withoutIds(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutIds);
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key, value]) => !(key === '$id' && typeof value === 'string'))
      .map(([key, value]) => [key, withoutIds(value)]),
  );
}

/** Compiles a route's schemas; an answer of false comes with a message that names the field, what is wrong and what is allowed. */
export const validatorCompiler: FastifySchemaCompiler<unknown> = ({ schema, httpPart }) => {
  const validate = (httpPart === 'body' ? json : text).compile(withoutIds(schema) as object);
  const place = PLACES[httpPart ?? ''] ?? 'the request';
  return (data: unknown) => {
    if (validate(data)) return { value: data };
    return { error: new RequestValidationError(describe(place, validate.errors ?? [])) };
  };
};

function describe(place: string, errors: readonly (ErrorObject | FastifySchemaValidationError)[]): string {
  const [first] = errors as ErrorObject[];
  if (!first) return `${place} is not valid`;
  const { path, message } = toValidationError(first, false);
  return path ? `\`${path}\` in ${place}: ${message}` : `${place}: ${message}`;
}

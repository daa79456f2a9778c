import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import formatsModule from 'ajv-formats';
import type { FastifySchemaCompiler, FastifySchemaValidationError } from 'fastify';
import { isTime } from '../../resources/time.ts';
import { quote, toValidationError } from '../../resources/validation-message.ts';
import { HttpError } from './errors.ts';

/** A request that does not match its schema: 400. */
export class RequestValidationError extends HttpError {
  constructor(message: string) {
    super(400, message);
    this.name = 'RequestValidationError';
  }
}

const FORMATS = ['uri', 'email', 'int64'] as const;

function compiler(coerceTypes: false | 'array'): Ajv {
  const ajv = new Ajv({ coerceTypes, useDefaults: true, removeAdditional: false, strict: false, verbose: true });
  // The package is CommonJS: its function is the `default` property of the import.
  formatsModule.default(ajv, [...FORMATS]);
  ajv.addFormat('date-time', isTime);
  return ajv;
}

type Compile = (schema: object) => ValidateFunction;

/**
 * Compiles each different schema once, for all routes and all servers of a process. Schemas are compared by their JSON text, because several routes
 * create equal ones. They are part of the program, so their number is fixed.
 */
function compileOnce(ajv: Ajv): Compile {
  const known = new Map<string, ValidateFunction>();
  return (schema) => {
    const plain = withoutIds(schema) as object;
    const text = JSON.stringify(plain);
    let validate = known.get(text);
    if (validate === undefined) known.set(text, (validate = ajv.compile(plain)));
    return validate;
  };
}

/** Values in paths and query strings are text and need coercion; JSON values have types. */
const compileCoercing = compileOnce(compiler('array'));
const compileStrict = compileOnce(compiler(false));

const PLACES: Readonly<Record<string, string>> = {
  body: 'the body',
  querystring: 'the query string',
  params: 'the path',
  headers: 'the headers',
};

/** `$id` names schemas in the OpenAPI document. Ajv rejects repeated names, so they are removed. */
function withoutIds(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutIds);
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key, value]) => !(key === '$id' && typeof value === 'string'))
      .map(([key, value]) => [key, withoutIds(value)]),
  );
}

/** Compiles the schemas of a route. Errors name the field, the problem and the allowed values. */
export const validatorCompiler: FastifySchemaCompiler<unknown> = ({ schema, httpPart }) => {
  const validate = (httpPart === 'body' ? compileStrict : compileCoercing)(schema as object);
  const place = PLACES[httpPart ?? ''] ?? 'the request';
  const integers = httpPart === 'body' ? [] : integersOf(schema as object);
  return (data: unknown) => {
    const wrong = integers.find((name) => isNoInteger((data as Record<string, unknown>)[name]));
    if (wrong !== undefined) {
      const value = quote((data as Record<string, unknown>)[wrong]);
      return { error: new RequestValidationError(`\`${wrong}\` in ${place}: ${value} is not an integer in digits`) };
    }
    if (validate(data)) return { value: data };
    return { error: new RequestValidationError(describe(place, validate.errors ?? [])) };
  };
};

function integersOf(schema: { readonly properties?: Readonly<Record<string, { readonly type?: unknown }>> }): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, { type }]) => (type === 'integer' ? [name] : []));
}

/** Whether Ajv's coercion would read a number from a text that has another form, such as `1e3`, `0x10` or ` 5`. */
function isNoInteger(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && !Number.isNaN(Number(value)) && !/^-?\d+$/.test(value);
}

function describe(place: string, errors: readonly (ErrorObject | FastifySchemaValidationError)[]): string {
  const [first] = errors as ErrorObject[];
  if (!first) return `${place} is not valid`;
  const { path, message } = toValidationError(first, false);
  return path ? `\`${path}\` in ${place}: ${message}` : `${place}: ${message}`;
}

import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';
import type { FastifySerializerCompiler } from 'fastify/types/schema.js';

// No schema refers to another one by name, so none is passed here.
const compile = SerializerSelector()({}, {});
/** By the JSON text of the schema. Schemas are part of the program, so their number is fixed. */
const known = new Map<string, ReturnType<typeof compile>>();

/**
 * Fastify's own serializers of responses, compiled once for each different schema. Most routes share the schemas of their errors, and compiling takes
 * half of the time in which a server is built.
 */
export const serializerCompiler: FastifySerializerCompiler<unknown> = (route) => {
  const text = JSON.stringify(route.schema);
  let serialize = known.get(text);
  if (serialize === undefined) known.set(text, (serialize = compile({ ...route, httpStatus: route.httpStatus ?? '' })));
  return serialize;
};

/** The same for a part of a response, such as one entry of a list. */
export function serializerOf(schema: unknown): (value: unknown) => string {
  return serializerCompiler({ schema, method: 'GET', url: '', httpStatus: '200' });
}

import type { Static, TSchema } from 'typebox';
import { validatorCompiler } from '../app-validation.ts';
import { singleParameters } from './target.ts';

type Validate = (data: unknown) => { value?: unknown; error?: Error };

/** Validates data against the schema that the OpenAPI document has. @throws {RequestValidationError} 400 */
export function schemaReader<S extends TSchema>(
  schema: S,
  httpPart: 'body' | 'querystring' | 'params',
): (data: unknown) => Static<S> {
  let validate: Validate | undefined;
  return (data) => {
    // Compiled on first use to shorten startup.
    validate ??= validatorCompiler({ schema, httpPart, method: '', url: '' }) as Validate;
    const { value, error } = validate(data);
    if (error !== undefined) throw error;
    return value as Static<S>;
  };
}

/** As `schemaReader`, for query parameters. @throws {HttpError} 400 also for repeated ones */
export function parameterReader<S extends TSchema>(schema: S): (parameters: URLSearchParams) => Static<S> {
  const read = schemaReader(schema, 'querystring');
  return (parameters) => read(singleParameters(parameters));
}

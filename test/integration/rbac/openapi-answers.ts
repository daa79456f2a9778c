import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formatsModule from 'ajv-formats';
import type { FastifyInstance } from 'fastify';
import { openApiDocument } from '../../../src/api/docs/openapi.ts';

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: object;
}
interface Operation {
  readonly responses: Readonly<Record<string, { content?: Readonly<Record<string, { schema: object }>> }>>;
}

export interface Answered {
  readonly method: string;
  /** With a query string or without. */
  readonly path: string;
  readonly status: number;
  /** Undefined for an empty body. */
  readonly body: unknown;
}

const documents = new WeakMap<FastifyInstance, Document>();
const validators = new Map<string, ValidateFunction>();

/** @throws {Error} if the OpenAPI document does not have this response, or another body */
export function checkAnswer(app: FastifyInstance, { method, path, status, body }: Answered): void {
  let document = documents.get(app);
  if (!document) documents.set(app, (document = openApiDocument(app) as unknown as Document));
  const [template, operation] = operationOf(document, method, path);
  const response = operation.responses[status];
  if (!response) throw new Error(`${method} ${template} answered ${status}, which the document does not name`);
  const schema = response.content?.['application/json']?.schema;
  if (!schema) {
    if (body !== undefined)
      throw new Error(`${method} ${template} ${status} has a body that the document does not name`);
    return;
  }
  const key = `${method} ${template} ${status}`;
  let validate = validators.get(key);
  if (!validate) {
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    formatsModule.default(ajv);
    // The references of the schema point into the document, so it is included.
    validators.set(key, (validate = ajv.compile({ ...schema, components: document.components })));
  }
  if (!validate(body)) throw new Error(`${key}: ${JSON.stringify(validate.errors)} in ${JSON.stringify(body)}`);
}

function operationOf(document: Document, method: string, path: string): readonly [string, Operation] {
  const [plain = ''] = path.split('?');
  for (const [template, operations] of Object.entries(document.paths)) {
    const pattern = new RegExp(`^${template.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`);
    const operation = operations[method.toLowerCase()];
    if (operation && pattern.test(plain)) return [template, operation];
  }
  throw new Error(`the document has no ${method} ${plain}`);
}

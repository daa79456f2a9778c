import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formatsModule from 'ajv-formats';
import { describe, expect, it } from 'vitest';

interface Media {
  readonly schema: object;
  readonly example?: unknown;
}
interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description?: string;
  readonly example?: unknown;
  readonly schema: {
    readonly description?: string;
    readonly enum?: unknown[];
    readonly type?: string;
    readonly pattern?: string;
  };
}
interface Response {
  readonly description: string;
  readonly content?: Readonly<Record<string, Media>>;
  readonly links?: Readonly<Record<string, { operationId: string; parameters?: Record<string, string> }>>;
}
interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, Response>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

const document = JSON.parse(await readFile(join(import.meta.dirname, '../../../../openapi.json'), 'utf8')) as Document;
const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
const byId = new Map(operations.map((operation) => [operation.operationId, operation]));

function problemOf(schema: object, value: unknown): string | undefined {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formatsModule.default(ajv);
  const validate = ajv.compile({ ...schema, components: document.components });
  return validate(value) ? undefined : JSON.stringify(validate.errors);
}

/** The OpenAPI document is generated (`make generate`): it is what a gateway serves. */
describe.each(operations.map((operation) => [operation.operationId, operation] as const))(
  'operation %s',
  (_id, operation) => {
    const { parameters = [], requestBody, responses, summary } = operation;
    const successes = Object.entries(responses).filter(([status]) => status.startsWith('2'));

    it('has a summary and a description of each response', () => {
      expect(summary).toMatch(/\w\.$/);
      expect(successes).not.toEqual([]);
      for (const { description } of Object.values(responses)) {
        expect(description).not.toBe('Default Response');
      }
      for (const [, { description }] of successes) expect(description).toMatch(/^[A-Z`].*\.$/s);
    });

    it('has a valid example of the request body and of each response with a body', () => {
      const messages = [requestBody, ...successes.map(([, response]) => response)];
      for (const media of messages.flatMap((message) => Object.values(message?.content ?? {}))) {
        expect(media.example).toBeDefined();
        expect(problemOf(media.schema, media.example)).toBeUndefined();
      }
    });

    it('has a description or an enumeration, and a valid example, of each parameter', () => {
      for (const { name, description, schema, example, in: place } of parameters) {
        expect(description ?? schema.description ?? schema.enum ?? schema.type, name).toBeDefined();
        if (place === 'path') expect(schema.pattern, name).toBeDefined();
        expect(example ?? schema.enum, name).toBeDefined();
        if (example !== undefined) expect(problemOf(schema, example), name).toBeUndefined();
      }
    });

    it('links to operations that exist, with parameters that they have', () => {
      for (const [, { links = {} }] of successes) {
        for (const link of Object.values(links)) {
          const target = byId.get(link.operationId);
          expect(target, link.operationId).toBeDefined();
          const names = (target?.parameters ?? []).map(({ name }) => name);
          for (const name of Object.keys(link.parameters ?? {})) expect(names).toContain(name);
        }
      }
    });
  },
);

/** Bounded by the limit of the URL and the headers (431), which is lower than one of their own would be; in a body by the check of the SQL. */
const BOUNDED_ELSEWHERE = new Set(['queryOptions', 'debugOptions', 'forward_host', 'forward_port']);

/** The places of texts in a schema that may have any length and content. */
function unboundedTexts(schema: unknown, place: string): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { $ref } = schema as { $ref?: string };
  if ($ref !== undefined) {
    const name = $ref.split('/').at(-1)!;
    return unboundedTexts(document.components.schemas[name], name);
  }
  const bounds = ['pattern', 'enum', 'const', 'format', 'maxLength'];
  const isText = (schema as { type?: unknown }).type === 'string';
  if (isText && !bounds.some((bound) => bound in schema)) return [place];
  return Object.entries(schema).flatMap(([key, value]) => {
    return ['example', 'examples', 'default'].includes(key) ? [] : unboundedTexts(value, `${place}/${key}`);
  });
}

describe('the OpenAPI document', () => {
  it('has a pattern, a format or a maximum length of each text in a request', () => {
    const found = operations.flatMap(({ operationId, parameters = [], requestBody }) => [
      ...parameters.flatMap(({ name, schema }) => unboundedTexts(schema, `${operationId}/${name}`)),
      ...Object.values(requestBody?.content ?? {}).flatMap(({ schema }) => unboundedTexts(schema, operationId)),
    ]);
    expect(found.filter((place) => !BOUNDED_ELSEWHERE.has(place.split('/').at(-1)!))).toEqual([]);
  });

  it('has a typed policy document', () => {
    const { PolicyDocumentInput: schema = {} } = document.components.schemas;
    const statement = { effect: 'allow', actions: 'Query', resources: ['srn2:table#events'] };
    expect(problemOf(schema, { version: 'v1', statements: [statement] })).toBeUndefined();
    for (const wrong of [
      { version: 'v1', statements: [] },
      { version: 'v1', statements: [{ ...statement, conditions: {} }] },
      { version: 'v1', statements: [{ ...statement, resources: 'events' }] },
      { statements: [statement] },
    ]) {
      expect(problemOf(schema, wrong)).toBeDefined();
    }
  });
});

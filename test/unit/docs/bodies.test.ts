import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formatsModule from 'ajv-formats';
import { describe, expect, it } from 'vitest';
import { BLOCKS, commandsWith } from '../../support/documents/blocks.ts';
import { ROOT } from '../../support/documents/pages.ts';

// Bodies of requests and responses in the documentation are compared with the schemas of openapi.json.

type Schema = { readonly [keyword: string]: unknown };
interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const DOCUMENT = JSON.parse(readFileSync(join(ROOT, 'openapi.json'), 'utf8')) as Document;
/** It is data of another program: a bucket's or the engine's configuration. */
const FOREIGN = 'of another program';
const POLICY = 'PolicyDocumentInput';

/** The schema of each JSON block of a page, in their order. */
const SCHEMAS: Readonly<Record<string, readonly string[]>> = {
  'docs/checks/INSTANCE_POOLS_N_REPLICA_GROUPS_CHECK.md': [FOREIGN],
  'docs/paginated-queries.md': ['CursorResponse', 'QueryStatus', 'ResultLinks', FOREIGN, FOREIGN, FOREIGN],
  'docs/rbac.md': [
    'SimulateAccessRequest',
    POLICY,
    POLICY,
    'SimulateAccessResponse',
    POLICY,
    POLICY,
    POLICY,
    POLICY,
    POLICY,
    POLICY,
    'AccessReview',
  ],
  'docs/rows-and-columns.md': ['PreviewPolicyRequest'],
};

/** The schema without fields that it does not name, where it names any: a misspelt field of a document is found. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).map(([key, value]) => [key, key === 'enum' ? value : closed(value)]);
  const copy = Object.fromEntries(entries) as Record<string, unknown>;
  if (copy['properties'] !== undefined) copy['additionalProperties'] ??= false;
  return copy;
}

/** Without what stands for left-out parts: a key, an element or a whole text of `…`. */
function written(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((element) => element !== '…').map(written);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([key]) => key !== '…');
  return Object.fromEntries(entries.map(([key, inner]) => [key, written(inner)]));
}

const components = closed(DOCUMENT.components) as object;

function problemOf(schema: Schema, value: unknown): string | undefined {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formatsModule.default(ajv);
  const validate = ajv.compile({ ...(closed(schema) as Schema), components });
  return validate(written(value)) ? undefined : JSON.stringify(validate.errors);
}

describe('blocks of JSON', () => {
  const blocks = BLOCKS.filter(({ language }) => language === 'json');

  it('have a schema each', () => {
    const counts: Record<string, number> = {};
    for (const { path } of blocks) counts[path] = (counts[path] ?? 0) + 1;
    expect(counts).toEqual(Object.fromEntries(Object.entries(SCHEMAS).map(([path, names]) => [path, names.length])));
  });

  it('are valid by it', () => {
    for (const [page, names] of Object.entries(SCHEMAS)) {
      const own = blocks.filter(({ path }) => path === page);
      for (const [index, name] of names.entries()) {
        if (name === FOREIGN) continue;
        const { where, text } = own[index]!;
        expect(problemOf({ $ref: `#/components/schemas/${name}` }, JSON.parse(text)), where).toBeUndefined();
      }
    }
  });

  it('would not be valid with a misspelt field', () => {
    const schema = { $ref: '#/components/schemas/QueryStatus' };
    const { text } = blocks.find(({ path }) => path === 'docs/paginated-queries.md')!;
    expect(problemOf(schema, JSON.parse(text))).toContain('must NOT have additional properties');
  });
});

describe('bodies in commands', () => {
  /** Path and body of the calls of curl with a body. */
  const calls = commandsWith(/\b(?:curl|call) /).flatMap(({ where, command }) => {
    const [, place, path] = /(\$GATEWAY|http:\/\/gateway:8080|\$URL)(\/[^\s"'?]*)/.exec(command) ?? [];
    const [, body] = / -d '([^']*)'/.exec(command) ?? [];
    if (path === undefined || body === undefined) return [];
    return [{ where, path: place === '$URL' ? `/api/v1/rbac-manager${path}` : path, body }];
  });

  function schemaOf(path: string): Schema | undefined {
    const found = Object.entries(DOCUMENT.paths).find(
      ([template, operations]) =>
        operations['post']?.requestBody !== undefined &&
        new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
    );
    return found?.[1]['post']?.requestBody?.content['application/json']?.schema;
  }

  it('are those of the requests', () => {
    expect(calls.length).toBeGreaterThanOrEqual(9);
    for (const { where, path, body } of calls) {
      const schema = schemaOf(path);
      expect(schema, `${where} ${path}`).toBeDefined();
      expect(problemOf(schema!, JSON.parse(body)), where).toBeUndefined();
    }
  });
});

import type { GeneratedFiles } from './generator.ts';
import { openApiDocument } from './openapi.ts';

/** The parts of JSON Schema that the OpenAPI document uses. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
}

const SCALARS: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
};

/** The TypeScript type of a schema. Lists and objects are read-only, because they are responses. */
export function typeOf(schema: Schema, indent = ''): string {
  if (schema.$ref !== undefined) return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
  if (schema.enum) return schema.enum.map((value) => literal(value)).join(' | ');
  if (schema.anyOf) return schema.anyOf.map((option) => typeOf(option, indent)).join(' | ');
  if (schema.type === 'array') return `ReadonlyArray<${typeOf(schema.items ?? {}, indent)}>`;
  if (schema.type === 'object') return objectType(schema, indent);
  return SCALARS[schema.type ?? ''] ?? 'unknown';
}

function objectType(schema: Schema, indent: string): string {
  const properties = Object.entries(schema.properties ?? {});
  if (properties.length === 0) {
    const { additionalProperties } = schema;
    const value = typeof additionalProperties === 'object' ? typeOf(additionalProperties, indent) : 'unknown';
    return `Readonly<Record<string, ${value}>>`;
  }
  const inner = `${indent}  `;
  const fields = properties.map(([name, property]) => {
    const optional = schema.required?.includes(name) === true ? '' : '?';
    return `${inner}readonly ${/^[A-Za-z_]\w*$/.test(name) ? name : literal(name)}${optional}: ${typeOf(property, inner)};`;
  });
  return `{\n${fields.join('\n')}\n${indent}}`;
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value.replaceAll(/['\\]/g, '\\$&')}'` : JSON.stringify(value);
}

/** Generates the dashboard's types of the REST API from the schemas of the OpenAPI document. */
export async function generateApiTypes(): Promise<GeneratedFiles> {
  const document = JSON.parse(await openApiDocument()) as { components: { schemas: Readonly<Record<string, Schema>> } };
  const types = Object.entries(document.components.schemas).map(
    ([name, schema]) => `export type ${name} = ${typeOf(schema)};`,
  );
  const head = '// Generated from the OpenAPI document by `make generate`; do not edit.\n';
  return new Map([['web/src/lib/api-types.ts', `${head}\n${types.join('\n\n')}\n`]]);
}

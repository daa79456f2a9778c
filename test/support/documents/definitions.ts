import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { ROOT } from './pages.ts';

interface Definition {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string; readonly plural: string; readonly shortNames?: readonly string[] };
    readonly versions: readonly { readonly name: string; readonly schema: { readonly openAPIV3Schema: Schema } }[];
  };
}
interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly [keyword: string]: unknown;
}

/** A custom resource definition. @param path from the root of the repository */
export function definition(path: string): Definition {
  return parse(readFileSync(join(ROOT, path), 'utf8')) as Definition;
}

/** A validator for each `apiVersion kind`; it refuses fields that the definition does not have. */
export function definitionsByKind(): Map<string, ReturnType<Ajv['compile']>> {
  const ajv = new Ajv({ strict: false, validateFormats: false });
  return new Map(
    globSync('crds/*.yaml', { cwd: ROOT }).flatMap((path) => {
      const { group, names, versions } = definition(path).spec;
      return versions.map(({ name, schema }) => {
        const { metadata: _, ...rest } = schema.openAPIV3Schema.properties!;
        const closed = closedSchema({ ...schema.openAPIV3Schema, properties: rest });
        const whole = { ...closed, properties: { ...closed.properties, metadata: { type: 'object' } } };
        return [`${group}/${name} ${names.kind}`, ajv.compile(whole)] as const;
      });
    }),
  );
}

/** The schema, without unknown fields in objects whose fields it lists. */
function closedSchema(schema: Schema): Schema {
  const closed: Record<string, unknown> = { ...schema };
  if (schema.properties !== undefined) {
    const entries = Object.entries(schema.properties).map(([key, value]) => [key, closedSchema(value)]);
    closed['properties'] = Object.fromEntries(entries);
    if (schema.additionalProperties === undefined) closed['additionalProperties'] = false;
  }
  // The Kubernetes API uses Go's syntax for a code point.
  if (typeof schema['pattern'] === 'string') closed['pattern'] = schema['pattern'].replaceAll('\\x{', '\\u{');
  if (schema.items !== undefined) closed['items'] = closedSchema(schema.items);
  return closed;
}

import { describe, expect, it } from 'vitest';
import { customResourceDefinition } from '../../../src/resources/crd.ts';
import type { JsonSchema } from '../../../src/resources/json-schema.ts';
import { API_VERSION, GROUP } from '../../../src/resources/meta.ts';
import { CUSTOM_KINDS, type CustomKind } from '../../../src/resources/kinds.ts';

interface Version {
  schema: { openAPIV3Schema: JsonSchema };
  subresources: object;
  additionalPrinterColumns: { name: string; jsonPath: string }[];
}

function versionOf(kind: CustomKind): Version {
  const { spec } = customResourceDefinition(kind) as unknown as { spec: { versions: Version[] } };
  return spec.versions[0]!;
}

/** Every schema within the kind's, with the path to it. */
function* walk(schema: JsonSchema, path: string): Generator<[string, JsonSchema]> {
  yield [path, schema];
  for (const [name, property] of Object.entries(schema.properties ?? {})) yield* walk(property, `${path}.${name}`);
  if (schema.items) yield* walk(schema.items, `${path}[]`);
  if (typeof schema.additionalProperties === 'object') yield* walk(schema.additionalProperties, `${path}.*`);
}

/** spec and status: the parts that olap-warden writes itself. */
function parts(kind: CustomKind): [string, JsonSchema][] {
  const { properties } = versionOf(kind).schema.openAPIV3Schema;
  return [...walk(properties!['spec']!, 'spec'), ...walk(properties!['status']!, 'status')];
}

const NOT_STRUCTURAL = ['anyOf', 'oneOf', 'allOf', 'const', '$id', '$ref', 'uniqueItems', 'patternProperties'];

describe.each(CUSTOM_KINDS)('the CRD of %s', (kind) => {
  it('serves the same schema in all versions, of which one is stored and the others are deprecated', () => {
    interface Served extends Version {
      readonly name: string;
      readonly storage: boolean;
      readonly deprecated?: boolean;
      readonly deprecationWarning?: string;
    }
    const { spec } = customResourceDefinition(kind) as unknown as { spec: { conversion: object; versions: Served[] } };
    // The API server converts objects by the name of the version alone.
    expect(spec.conversion).toEqual({ strategy: 'None' });
    expect(spec.versions.map(({ name, storage, deprecated }) => [name, storage, deprecated])).toEqual([
      ['v1beta1', true, undefined],
      ['v1alpha1', false, true],
    ]);
    expect(spec.versions[1]?.deprecationWarning).toBe(
      `olapwarden.io/v1alpha1 ${kind} is deprecated: use olapwarden.io/v1beta1, which has the same fields`,
    );
    const inFirst = ({ name, schema, subresources, additionalPrinterColumns }: Served): unknown =>
      JSON.parse(
        JSON.stringify({ schema, subresources, additionalPrinterColumns }).replaceAll(`${GROUP}/${name}`, API_VERSION),
      );
    for (const version of spec.versions) expect(inFirst(version)).toEqual(inFirst(spec.versions[0]!));
  });

  it('is a structural schema', () => {
    const found = parts(kind).flatMap(([path, schema]) =>
      NOT_STRUCTURAL.filter((keyword) => keyword in schema).map((keyword) => `${path}: ${keyword}`),
    );
    expect(found).toEqual([]);
    expect(parts(kind).filter(([, schema]) => schema.additionalProperties === false)).toEqual([]);
  });

  it('limits every string, list and map, which bounds the cost of the CEL rules', () => {
    const unbounded = parts(kind).filter(([, schema]) => {
      if (schema.type === 'string') return !('maxLength' in schema || 'enum' in schema || 'format' in schema);
      if (schema.type === 'array') return !('maxItems' in schema);
      return 'additionalProperties' in schema && !('maxProperties' in schema);
    });
    expect(unbounded.map(([path]) => path)).toEqual([]);
  });

  it('describes every field for kubectl explain', () => {
    const undescribed = parts(kind).filter(([path, schema]) => !schema['description'] && !/(\[\]|\*)$/.test(path));
    expect(undescribed.map(([path]) => path)).toEqual([]);
  });

  it('has a status subresource and columns of existing fields', () => {
    const { subresources, additionalPrinterColumns, schema } = versionOf(kind);
    expect(subresources).toEqual({ status: {} });
    for (const { jsonPath } of additionalPrinterColumns) {
      const [part, field] = jsonPath.replace(/\[.*/, '').split('.').slice(1);
      if (part === 'metadata') continue;
      expect(schema.openAPIV3Schema.properties?.[part!]?.properties, jsonPath).toHaveProperty([field!]);
    }
  });
});

it('does not require a field that has a default', () => {
  const statement = parts('Policy').find(([path]) => path === 'spec.statements[]')?.[1];
  expect(statement?.required).toEqual(['resources']);
  expect(statement?.properties?.['effect']).toMatchObject({ default: 'deny', enum: ['allow', 'deny'] });
});

it('has the CEL rules of a kind in its spec', () => {
  const spec = versionOf('RoleAssignment').schema.openAPIV3Schema.properties?.['spec'];
  expect(spec?.['x-kubernetes-validations']).toEqual([
    { rule: 'self.role == oldSelf.role', message: expect.stringContaining('is immutable') as string },
  ]);
});

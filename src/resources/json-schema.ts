/** A JSON schema as plain data, without TypeBox's internal symbols. */
export interface JsonSchema {
  [keyword: string]: unknown;
  type?: string;
  properties?: Record<string, JsonSchema>;
  additionalProperties?: boolean | JsonSchema;
  items?: JsonSchema;
  required?: string[];
  default?: unknown;
}

/**
 * Converts a TypeBox schema to the plain JSON schema that the validator and the CRD share: maps use `additionalProperties` (TypeBox writes
 * `patternProperties`, which a CRD must not contain), and fields with a default are not required.
 */
export function plainSchema(schema: object): JsonSchema {
  return normalise(JSON.parse(JSON.stringify(schema)) as JsonSchema);
}

function normalise(schema: JsonSchema): JsonSchema {
  const { patternProperties, ...rest } = schema;
  const result: JsonSchema = rest;
  const mapped = patternProperties as Record<string, JsonSchema> | undefined;
  const anyName = mapped && Object.values(mapped)[0];
  if (anyName) result.additionalProperties = normalise(anyName);
  if (result.properties) result.properties = mapValues(result.properties, normalise);
  if (result.items) result.items = normalise(result.items);
  if (result.required) result.required = result.required.filter((name) => !hasDefault(result.properties?.[name]));
  if (result.required?.length === 0) delete result.required;
  return result;
}

function hasDefault(schema: JsonSchema | undefined): boolean {
  return schema?.default !== undefined;
}

/** Applies `change` to a schema and then to its nested schemas. */
export function transformSchema(schema: JsonSchema, change: (schema: JsonSchema) => JsonSchema): JsonSchema {
  const result = change(schema);
  if (result.properties)
    result.properties = mapValues(result.properties, (property) => transformSchema(property, change));
  if (result.items) result.items = transformSchema(result.items, change);
  if (typeof result.additionalProperties === 'object') {
    result.additionalProperties = transformSchema(result.additionalProperties, change);
  }
  return result;
}

function mapValues<A, B>(record: Record<string, A>, map: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));
}

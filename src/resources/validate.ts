import { Ajv, type SchemaValidateFunction, type ValidateFunction } from 'ajv';
import formatsModule from 'ajv-formats';
import { plainSchema, transformSchema, type JsonSchema } from './json-schema.ts';
import { KINDS, type CustomKind, type ResourceByKind, type ResourceKind } from './kinds.ts';
import { API_VERSIONS, NAME_MAX_LENGTH, NAME_PATTERN } from './meta.ts';
import type { Rule } from './schema.ts';
import { isTime } from './time.ts';
import { toValidationError, type ValidationError } from './validation-message.ts';

export type ValidationResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly errors: readonly ValidationError[] };

/** Further errors are only counted: a request body could cause millions. */
const MAX_ERRORS = 20;

/**
 * Validates an object of a kind, with the same result as a kube-apiserver with the CRD.
 *
 * @param object parsed from YAML or JSON; it is not modified
 * @param previous the stored object, on an update; required for rules about immutable fields
 * @returns a copy with defaults, or all errors
 */
export function validateResource<K extends ResourceKind>(
  kind: K,
  object: unknown,
  previous?: ResourceByKind[K],
): ValidationResult<ResourceByKind[K]> {
  const value: unknown = structuredClone(object);
  const validate = validatorOf(kind);
  if (!validate(value)) {
    const errors = (validate.errors ?? [])
      .slice(0, MAX_ERRORS)
      .map((error) => toValidationError(error, kind === 'Secret'));
    const more = (validate.errors?.length ?? 0) - errors.length;
    if (more > 0) errors.push({ path: '', message: `and ${more} more errors` });
    return { ok: false, errors };
  }
  const errors = kind === 'Secret' ? [] : brokenRules(kind, value, previous);
  return errors.length > 0 ? { ok: false, errors } : { ok: true, value: value as ResourceByKind[K] };
}

/** All errors in one line: `spec.role: is required: …; spec.subjects: must have at least one entry`. */
export function describeErrors(errors: readonly ValidationError[]): string {
  return errors.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join('; ');
}

function brokenRules(kind: CustomKind, value: unknown, previous: unknown): ValidationError[] {
  const { spec } = value as { spec: unknown };
  const previousSpec = (previous as { spec: unknown } | undefined)?.spec;
  // Each kind's rules are typed by its spec, which the schema has just validated.
  const rules = KINDS[kind].rules as readonly Rule<unknown>[];
  return rules.filter((rule) => !rule.holds(spec, previousSpec)).map((rule) => ({ path: '', message: rule.message }));
}

const validators = new Map<ResourceKind, ValidateFunction>();

function validatorOf(kind: ResourceKind): ValidateFunction {
  let validate = validators.get(kind);
  if (!validate) {
    validate = ajv.compile(kind === 'Secret' ? secretSchema : customResourceSchema(kind));
    validators.set(kind, validate);
  }
  return validate;
}

/** Rejects two entries of a `x-kubernetes-list-type: map` with the same keys, as a kube-apiserver does. */
const uniqueKeys: SchemaValidateFunction = (keys: string[], data: unknown[]) => {
  const seen = new Set<string>();
  for (const entry of data as Record<string, unknown>[]) {
    const key = keys.map((name) => `${name} \`${String(entry[name])}\``).join(', ');
    if (seen.has(key)) {
      uniqueKeys.errors = [
        {
          keyword: 'x-kubernetes-list-map-keys',
          params: {},
          message: `contains two entries with ${key}: entries must be unique`,
        },
      ];
      return false;
    }
    seen.add(key);
  }
  return true;
};

const ajv = new Ajv({ allErrors: true, strict: true, useDefaults: true, verbose: true });
// The package is CommonJS: the function is the default export of its namespace.
formatsModule.default(ajv, ['int64']);
ajv.addFormat('date-time', isTime);
ajv.addKeyword({ keyword: 'x-kubernetes-list-type', schemaType: 'string' });
ajv.addKeyword({ keyword: 'x-kubernetes-validations', schemaType: 'array' });
ajv.addKeyword({
  keyword: 'x-kubernetes-list-map-keys',
  type: 'array',
  schemaType: 'array',
  errors: 'full',
  validate: uniqueKeys,
});

const stringMap: JsonSchema = { type: 'object', additionalProperties: { type: 'string' } };

/** The fields of ObjectMeta that olap-warden uses; others are not validated. */
const metadataSchema: JsonSchema = {
  type: 'object',
  required: ['name'],
  properties: {
    name: {
      type: 'string',
      minLength: 1,
      maxLength: NAME_MAX_LENGTH,
      pattern: NAME_PATTERN,
      description: 'every object needs a name, such as `data-engineers`',
    },
    namespace: { type: 'string', maxLength: NAME_MAX_LENGTH },
    labels: stringMap,
    annotations: stringMap,
    resourceVersion: { type: 'string' },
    uid: { type: 'string' },
    finalizers: { type: 'array', items: { type: 'string' } },
    ownerReferences: { type: 'array', items: { type: 'object' } },
  },
};

function objectSchema(
  apiVersions: readonly string[],
  kind: string,
  properties: Record<string, JsonSchema>,
): JsonSchema {
  return {
    type: 'object',
    required: ['apiVersion', 'kind', 'metadata'],
    additionalProperties: false,
    properties: {
      apiVersion: { type: 'string', enum: [...apiVersions] },
      kind: { type: 'string', enum: [kind] },
      metadata: metadataSchema,
      ...properties,
    },
  };
}

function customResourceSchema(kind: CustomKind): JsonSchema {
  const definition = KINDS[kind];
  const schema = objectSchema(API_VERSIONS, kind, { spec: closed(definition.spec), status: closed(definition.status) });
  schema.required?.push('spec');
  return schema;
}

/** Rejects unknown fields: a misspelt field must not be ignored. Null is no value of any field. */
function closed(schema: object): JsonSchema {
  return transformSchema(plainSchema(schema), ({ nullable: _nullable, ...inner }) =>
    inner.properties ? { ...inner, additionalProperties: false } : inner,
  );
}

const secretSchema = objectSchema(['v1'], 'Secret', {
  type: { type: 'string', maxLength: 253 },
  immutable: { type: 'boolean' },
  data: { ...stringMap, description: 'values by key, in base64' },
});

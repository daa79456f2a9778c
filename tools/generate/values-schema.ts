import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { GeneratedFiles } from './generator.ts';

type Schema = Readonly<Record<string, unknown>>;

/** Schemas that cannot be derived from the defaults. */
const KNOWN: Readonly<Record<string, Schema>> = {
  'engine.controllers': { type: 'array', minItems: 1, items: { type: 'string', pattern: '^https?://' } },
  'engine.brokers': { type: 'array', items: { type: 'string', pattern: '^https?://' } },
  'firstAdministrator.type': { enum: ['user-email', 'group', 'domain', 'service-token'] },
  'image.pullPolicy': { enum: ['Always', 'IfNotPresent', 'Never'] },
  'image.digest': { type: 'string', pattern: '^(sha256:[0-9a-f]{64})?$' },
  'gateway.kind': { enum: ['StatefulSet', 'Deployment'] },
  'gateway.service.type': { enum: ['ClusterIP', 'NodePort', 'LoadBalancer'] },
};

/** Lists without an entry in KNOWN contain objects or strings of Kubernetes. */
function schemaOf(value: unknown, path: string): Schema {
  const known = KNOWN[path];
  if (known) return known;
  if (Array.isArray(value)) return { type: 'array' };
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    if (entries.length === 0 || path.endsWith('resources') || path.endsWith('labels')) return { type: 'object' };
    return {
      type: 'object',
      additionalProperties: false,
      properties: Object.fromEntries(
        entries.map(([key, item]) => [key, schemaOf(item, path === '' ? key : `${path}.${key}`)]),
      ),
    };
  }
  if (typeof value === 'number') return { type: 'integer', minimum: 0 };
  return { type: typeof value };
}

/** Generates values.schema.json, with which Helm rejects unknown values. */
export async function generateValuesSchema(root: string): Promise<GeneratedFiles> {
  const values: unknown = parse(await readFile(join(root, 'charts/olap-warden/values.yaml'), 'utf8'));
  const schema = schemaOf(values, '') as { properties: Record<string, Schema> };
  const properties = {
    ...schema.properties,
    nameOverride: { type: 'string' },
    fullnameOverride: { type: 'string' },
    global: { type: 'object' },
  };
  const document = { $schema: 'https://json-schema.org/draft/2020-12/schema', ...schema, properties };
  return new Map([['charts/olap-warden/values.schema.json', `${JSON.stringify(document, undefined, 2)}\n`]]);
}

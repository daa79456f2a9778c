import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { PROPERTIES } from '../../src/app/parts/properties.ts';
import { FORMER_NAMES } from '../../src/config/former-names.ts';
import { SETTING_KEYS } from '../../src/config/schema.ts';
import type { SettingSchema } from '../../src/platform/setting-schema.ts';
import { alertNames } from './alerts.ts';
import type { GeneratedFiles } from './generator.ts';

type Schema = Readonly<Record<string, unknown>>;

/** A number of pods or a percentage; empty: not set. */
const PODS: Schema = {
  anyOf: [
    { type: 'integer', minimum: 0 },
    { type: 'string', pattern: '^([0-9]+%)?$' },
  ],
};

/** Fields of a pod spec that the chart sets, or that have a value of their own. */
const POD_FIELDS = [
  'affinity',
  'containers',
  'hostAliases',
  'imagePullSecrets',
  'initContainers',
  'nodeSelector',
  'priorityClassName',
  'securityContext',
  'serviceAccountName',
  'terminationGracePeriodSeconds',
  'tolerations',
  'topologySpreadConstraints',
  'volumes',
];
const POD_SPEC: Schema = { type: 'object', properties: Object.fromEntries(POD_FIELDS.map((field) => [field, false])) };

const TRAFFIC_POLICY: Schema = { enum: ['', 'Cluster', 'Local'] };

/** The name of a further cluster; the templates refuse those that would be names of other objects. */
const CLUSTER_NAME: Schema = { type: 'string', pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' };

/** Settings that the chart derives: its rights and admission policies are for these values alone. */
const DERIVED = new Set(['leader-lease', 'namespace', 'cluster-files', 'further-cluster', 'other-clusters']);

/** The names of all alerts. */
const ALERTS = alertNames();

/** Schemas that cannot be derived from the defaults. */
const KNOWN: Readonly<Record<string, Schema>> = {
  'engine.controllers': { type: 'array', minItems: 1, items: { type: 'string', pattern: '^https?://' } },
  'engine.brokers': { type: 'array', items: { type: 'string', pattern: '^https?://' } },
  'firstAdministrator.type': { enum: ['user-email', 'group', 'domain', 'service-token'] },
  'image.pullPolicy': { enum: ['Always', 'IfNotPresent', 'Never'] },
  'image.digest': { type: 'string', pattern: '^(sha256:[0-9a-f]{64})?$' },
  'gateway.kind': { enum: ['StatefulSet', 'Deployment'] },
  'gateway.service.type': { enum: ['ClusterIP', 'NodePort', 'LoadBalancer'] },
  'gateway.service.externalTrafficPolicy': TRAFFIC_POLICY,
  'gateway.service.internalTrafficPolicy': TRAFFIC_POLICY,
  'gateway.service.ipFamilyPolicy': { enum: ['', 'SingleStack', 'PreferDualStack', 'RequireDualStack'] },
  'networkPolicy.egress.apiServer.ports': { type: 'array', minItems: 1, items: { type: 'integer' } },
  'metrics.alerts.disabled': { type: 'array', items: { enum: ALERTS } },
  'metrics.alerts.extraLabels': { type: 'object', propertyNames: { enum: ALERTS } },
  podSecurityContext: { type: 'object' },
  securityContext: { type: 'object' },
  ...Object.fromEntries(
    ['operator', 'gateway'].flatMap((component) => [
      [`${component}.podSpec`, POD_SPEC],
      [`${component}.extraArgs`, { type: 'array', items: { type: 'string' } }],
      [`${component}.podDisruptionBudget.maxUnavailable`, PODS],
      [`${component}.podDisruptionBudget.minAvailable`, PODS],
    ]),
  ),
  settings: settingsSchema(),
  properties: propertiesSchema(),
};

/** What an object with `enabled: true` requires, by path: the list that must not be empty. */
const REQUIRED_IF_ENABLED: Readonly<Record<string, string>> = { ingress: 'hosts', gatewayRoute: 'parentRefs' };

/** The value of a setting in the file; texts are parsed by the program. */
function settingSchema({ type, enum: values, unit, minimum, maximum, description }: SettingSchema): Schema {
  if (values) return { enum: values, description };
  if (type === 'array') return { type: ['array', 'string'], description };
  if (type === 'boolean') return { type: ['boolean', 'string', 'integer'], description };
  if (type === 'string') return { type: ['string', 'number', 'boolean'], description };
  const limits = unit === undefined ? { minimum, maximum } : {};
  return { type: ['integer', 'string'], ...limits, description };
}

function settingsSchema(): Schema {
  const settings = withFormer(SETTING_KEYS, (key) => !key.includes('.'));
  const properties = Object.fromEntries(settings.filter(([key]) => !DERIVED.has(key)));
  return { type: 'object', additionalProperties: false, properties };
}

/** Properties have dotted keys, nested mappings, or nested mappings with dotted keys in the last one. */
function propertiesSchema(): Schema {
  return level(withFormer(PROPERTIES.keys, (key) => key.includes('.')));
}

/**
 * The schemas of the keys and of their former ones, which the program accepts.
 * @param isOfGroup whether a key that no longer exists was one of these
 */
function withFormer(
  keys: ReadonlyMap<string, SettingSchema>,
  isOfGroup: (key: string) => boolean,
): (readonly [string, Schema])[] {
  const present = [...keys].map(([key, schema]) => [key, settingSchema(schema)] as const);
  const former = [...FORMER_NAMES].flatMap(([name, known]): (readonly [string, Schema])[] => {
    if ('instead' in known)
      return isOfGroup(name) ? [[name, { description: `Ignored until version ${known.removedIn}.` }]] : [];
    const schema = keys.get(known.key);
    const description = `The former name of ${known.key}, until version ${known.removedIn}.`;
    return schema === undefined ? [] : [[name, settingSchema({ ...schema, description })]];
  });
  return [...present, ...former];
}

function level(keys: readonly (readonly [string, Schema])[]): Schema {
  const properties: Record<string, Schema> = {};
  const below = new Map<string, [string, Schema][]>();
  for (const [key, schema] of keys) {
    properties[key] = schema;
    const [first = '', ...rest] = key.split('.');
    if (rest.length > 0) below.set(first, [...(below.get(first) ?? []), [rest.join('.'), schema]]);
  }
  for (const [first, rest] of below) {
    if (properties[first] !== undefined) throw new TypeError(`\`${first}\` is a property and a prefix of others`);
    properties[first] = level(rest);
  }
  return { type: 'object', additionalProperties: false, properties };
}

/** Lists without an entry in KNOWN contain objects or strings of Kubernetes. */
function schemaOf(value: unknown, path: string): Schema {
  const known = KNOWN[path];
  if (known) return known;
  if (Array.isArray(value)) return { type: 'array' };
  if (typeof value === 'object' && value !== null) return objectSchema(value, path);
  if (typeof value === 'number') return { type: 'integer', minimum: 0 };
  return { type: typeof value };
}

function objectSchema(value: object, path: string): Schema {
  const entries = Object.entries(value);
  if (entries.length === 0 || path.endsWith('resources') || path.endsWith('labels')) return { type: 'object' };
  const required = REQUIRED_IF_ENABLED[path];
  return {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(
      entries.map(([key, item]) => [key, schemaOf(item, path === '' ? key : `${path}.${key}`)]),
    ),
    ...(required !== undefined && {
      if: { properties: { enabled: { const: true } } },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: { properties: { [required]: { minItems: 1 } } },
    }),
  };
}

/** Values that an entry of `clusters` can override. */
const OF_CLUSTER = ['gateway', 'ingress', 'gatewayRoute', 'networkPolicy', 'properties', 'settings'];

function clustersSchema({ engine }: Record<string, Schema>): Schema {
  const { controllers, brokers, credentialSecret } = (engine as { properties: Record<string, Schema> }).properties;
  const overrides = OF_CLUSTER.map((name) => [name, { $ref: `#/properties/${name}` }]);
  const item: Schema = {
    type: 'object',
    additionalProperties: false,
    required: ['name', 'controllers'],
    properties: { name: CLUSTER_NAME, controllers, brokers, credentialSecret, ...Object.fromEntries(overrides) },
  };
  return { type: 'array', items: item };
}

/** Generates values.schema.json, with which Helm rejects unknown values. */
export async function generateValuesSchema(root: string): Promise<GeneratedFiles> {
  const values: unknown = parse(await readFile(join(root, 'charts/olap-warden/values.yaml'), 'utf8'));
  const schema = schemaOf(values, '') as { properties: Record<string, Schema> };
  const properties = {
    ...schema.properties,
    clusters: clustersSchema(schema.properties),
    nameOverride: { type: 'string' },
    fullnameOverride: { type: 'string' },
    global: { type: 'object' },
  };
  const document = { $schema: 'https://json-schema.org/draft/2020-12/schema', ...schema, properties };
  return new Map([['charts/olap-warden/values.schema.json', `${JSON.stringify(document, undefined, 2)}\n`]]);
}

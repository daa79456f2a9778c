import { MUTE_ID_PATTERN } from '../../resources/health-mute.ts';
import { NAME_PATTERN } from '../../resources/meta.ts';
import { plainSchema, transformSchema } from '../../resources/json-schema.ts';
import { ACTION_PATTERN, Conditions, SRN_PATTERN } from '../../resources/policy.ts';
import type { OperationDocs } from '../server/operation.ts';

type Fields = Record<string, unknown>;

const NAME = NAME_PATTERN.slice(1, -1);

/**
 * Patterns and examples of parameters, by name. The patterns are not used for validation, whose messages are more precise: they suggest a valid
 * name, for example.
 */
const PARAMETERS: Readonly<Record<string, { readonly pattern?: string; readonly example: unknown }>> = {
  roleSrn: { pattern: `^srn2:role#${NAME}$`, example: 'srn2:role#analysts' },
  policySrn: { pattern: `^srn2:policy#${NAME}$`, example: 'srn2:policy#read-events' },
  tokenSrn: { pattern: `^srn2:service-token#${NAME}$`, example: 'srn2:service-token#a1b2c3d4e5f6g7h8' },
  muteId: { pattern: MUTE_ID_PATTERN, example: 'mute-0a1b2c3d' },
  requestId: { pattern: '^[0-9a-f]{8}-n?[0-9a-f]{30}$', example: '0a1b2c3d-00112233445566778899aabbccddee' },
  continue: { pattern: '^[A-Za-z0-9_-]+$', example: 'YWZ0ZXI6YW5hbHlzdHM' },
  action: { pattern: '^[A-Za-z]{1,128}$', example: 'Query' },
  resource: { pattern: SRN_PATTERN, example: 'srn2:table#events' },
  limit: { example: 100 },
  offset: { example: 0 },
  numRows: { example: 100 },
  links: { example: true },
  format: { example: 'json' },
  sql: { example: 'SELECT count(*) FROM orders' },
  doPaginate: { example: true },
  async: { example: false },
  before: { example: '1769846400000.0a1b2c3d-00112233445566778899aabbccddee' },
  taskName: { example: 'ClusterHealthCheckTask' },
  state: { example: 'ENABLE' },
  unusedDays: { example: 90 },
  name: { example: 'team-a-*' },
  description: { example: 'nightly*' },
  createdBy: { example: 'srn2:user#ada@example.com' },
  subject: { example: 'ada@example.com' },
  subjectType: { example: 'user-email' },
  check: { example: 'SEGMENT_COUNT_CHECK' },
  table: { example: 'events_OFFLINE' },
  instance: { example: 'Server_10.0.0.7_8098' },
  taskname: { example: 'ClusterHealthCheckTask' },
  tableName: { example: 'events' },
  type: { example: 'OFFLINE' },
  wait: { example: false },
  forward_host: { example: '10.0.0.7' },
  forward_port: { example: '8080' },
  getCursor: { example: true },
  queryOptions: { example: 'timeoutMs=5000' },
  debugOptions: { example: 'timeoutMs=5000' },
  trace: { example: false },
};

/** Patterns of fields in request bodies, by schema and field. */
const FIELD_PATTERNS: readonly (readonly [schema: string, field: string, pattern: string])[] = [
  ['CreateRoleRequest', 'name', NAME_PATTERN],
  ['CreatePolicyRequest', 'name', NAME_PATTERN],
  ['AttachPolicyRequest', 'policySrn', `^srn2:policy#${NAME}$`],
  ['SimulateAccessRequest', 'resourceSrn2String', SRN_PATTERN],
  ['SimulateAccessRequest', 'action', '^[A-Za-z*]{1,128}$'],
];

const oneOrMore = (item: Fields): Fields => ({
  anyOf: [item, { type: 'array', items: item, minItems: 1, maxItems: 256 }],
});

/** As in a resource, but without null, which is no value of a REST body. */
const conditionsSchema = transformSchema(plainSchema(Conditions), ({ nullable: _nullable, ...inner }) =>
  inner.properties ? { ...inner, additionalProperties: false } : inner,
);

/** The policy document of a request. Its own parser reports the path and the nearest valid name. */
const DOCUMENT_SCHEMAS: Fields = {
  PolicyDocumentInput: {
    type: 'object',
    description: 'A policy document.',
    required: ['version', 'statements'],
    additionalProperties: false,
    properties: {
      version: { type: 'string', enum: ['v1'] },
      statements: {
        type: 'array',
        minItems: 1,
        maxItems: 1000,
        items: { $ref: '#/components/schemas/StatementInput' },
      },
    },
  },
  StatementInput: {
    type: 'object',
    description: 'A rule that allows or denies actions on resources. A deny overrides every allow.',
    required: ['resources'],
    additionalProperties: false,
    properties: {
      description: { type: 'string', maxLength: 1024 },
      effect: { type: 'string', enum: ['allow', 'deny'], default: 'deny' },
      actions: {
        description: 'Action names without regard to case; `*` matches any letters. All actions if absent.',
        ...oneOrMore({ type: 'string', pattern: ACTION_PATTERN }),
      },
      resources: {
        description: 'Resource names; `*` matches any characters within a level, `*` alone matches everything.',
        ...oneOrMore({ type: 'string', maxLength: 1024, pattern: SRN_PATTERN }),
      },
      conditions: { ...conditionsSchema, minProperties: 1 },
    },
  },
};

const ETAG = {
  description: 'Version of the resource, for `If-Match`.',
  schema: { type: 'string', pattern: '^"[^"]*"$', examples: ['"4711"'] },
};
const TAG_LIST = '^(\\*|(W/)?"[!#-~]{0,64}"(, (W/)?"[!#-~]{0,64}")*)$';
const conditional = (name: string, description: string): Fields => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: { type: 'string', pattern: TAG_LIST },
  example: '"4711"',
});
const IF_MATCH = conditional('If-Match', 'Changes the resource only if it has this version (`ETag`); otherwise 412.');
const IF_NONE_MATCH = conditional('If-None-Match', '304 without a body if the resource has this version (`ETag`).');

const IF_NONE_MATCH_PUT: Fields = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description: '`*`: creates only; 412 if the resource exists.',
  schema: { type: 'string', enum: ['*'] },
};
const CONDITIONS: Readonly<Record<NonNullable<OperationDocs['versions']>, readonly Fields[]>> = {
  tag: [],
  read: [IF_NONE_MATCH],
  write: [IF_MATCH],
  put: [IF_MATCH, IF_NONE_MATCH_PUT],
  remove: [IF_MATCH],
};

/** Adds descriptions, examples, links and version headers to an operation, and patterns to its parameters. */
export function documentOperation(operation: Fields): void {
  for (const parameter of (operation['parameters'] ?? []) as Fields[]) documentParameter(parameter);
  const docs = operation['x-docs'] as OperationDocs | undefined;
  delete operation['x-docs'];
  if (docs === undefined) return;
  if (docs.request !== undefined) addExample(operation['requestBody'] as Fields | undefined, docs.request);
  const responses = operation['responses'] as Record<string, Fields>;
  const status = Object.keys(responses).find((code) => code.startsWith('2'));
  const ok = status === undefined ? undefined : responses[status];
  if (ok === undefined) return;
  ok['description'] = docs.ok;
  if (docs.response !== undefined) addExample(ok, docs.response);
  if (docs.links !== undefined) ok['links'] = docs.links;
  if (docs.accepted !== undefined) documentOther(responses['202'], docs.accepted);
  if (docs.created !== undefined) documentOther(responses['201'], docs.created);
  documentVersions(operation, ok, docs);
}

/** Another 2xx response than the first. */
function documentOther(response: Fields | undefined, other: NonNullable<OperationDocs['accepted']>): void {
  if (response === undefined) return;
  response['description'] = other.ok;
  addExample(response, other.response);
}

function documentVersions(operation: Fields, ok: Fields, { versions }: OperationDocs): void {
  if (versions === undefined) return;
  if (versions !== 'remove') ok['headers'] = { ...(ok['headers'] as Fields | undefined), ETag: ETAG };
  const responses = operation['responses'] as Record<string, Fields>;
  const created = responses['201'];
  if (created !== undefined) created['headers'] = { ETag: ETAG };
  const conditions = CONDITIONS[versions];
  if (conditions.length === 0) return;
  operation['parameters'] = [...((operation['parameters'] ?? []) as Fields[]), ...conditions];
  if (versions === 'read') responses['304'] ??= { description: 'The resource has the version of `If-None-Match`.' };
}

function documentParameter(parameter: Fields): void {
  const known = PARAMETERS[String(parameter['name'])];
  if (known === undefined) return;
  parameter['example'] ??= known.example;
  const schema = parameter['schema'] as Fields | undefined;
  if (schema !== undefined && known.pattern !== undefined) parameter['schema'] = { pattern: known.pattern, ...schema };
}

function addExample(message: Fields | undefined, example: unknown): void {
  for (const media of Object.values((message?.['content'] ?? {}) as Record<string, Fields>))
    media['example'] ??= example;
}

/** Adds patterns to request bodies, and the schemas of policy documents. */
export function documentSchemas(schemas: Fields): Fields {
  const documented: Fields = { ...schemas };
  for (const [name, field, pattern] of FIELD_PATTERNS) {
    const schema = documented[name] as { readonly properties: Readonly<Record<string, Fields>> } | undefined;
    if (schema === undefined) continue;
    const properties = { ...schema.properties, [field]: { ...schema.properties[field], pattern } };
    documented[name] = { ...schema, properties };
  }
  return 'PolicyDocumentInput' in documented ? { ...documented, ...DOCUMENT_SCHEMAS } : documented;
}

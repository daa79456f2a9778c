import { plainSchema, transformSchema, type JsonSchema } from './json-schema.ts';
import type { CustomKind } from './kinds.ts';
import { KINDS } from './kinds.ts';
import { GROUP, SERVED_VERSIONS, VERSION, type ServedVersion } from './meta.ts';
import { ACTION_PATTERN, COLUMN_PATTERN, SRN_PATTERN } from './policy.ts';
import type { PrinterColumn, Rule } from './schema.ts';
import { TIME_PATTERN } from './time.ts';
import { PATTERN_MEANINGS } from './validation-message.ts';

/** The category of every kind: `kubectl get olap`. */
const CATEGORY = 'olap';

/** The part of an apiextensions.k8s.io/v1 CustomResourceDefinition that olap-warden uses. */
export interface CustomResourceDefinition {
  readonly apiVersion: 'apiextensions.k8s.io/v1';
  readonly kind: 'CustomResourceDefinition';
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: object;
}

/** The CustomResourceDefinition of a kind, with all validation, so that no webhook is needed. */
export function customResourceDefinition(kind: CustomKind): CustomResourceDefinition {
  const definition = KINDS[kind];
  const { plural, singular, shortNames } = definition;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${GROUP}`, labels: { 'app.kubernetes.io/part-of': 'olap-warden' } },
    spec: {
      group: GROUP,
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular,
        shortNames: [...shortNames],
        categories: [CATEGORY],
      },
      scope: 'Namespaced',
      // The API server changes only `apiVersion`: the versions must have the same schema.
      conversion: { strategy: 'None' },
      versions: SERVED_VERSIONS.map((version) => servedVersion(kind, version)),
    },
  };
}

function servedVersion(kind: CustomKind, version: ServedVersion): object {
  return {
    name: version,
    served: true,
    storage: version === VERSION,
    ...(version !== VERSION && deprecation(kind, version)),
    schema: { openAPIV3Schema: objectSchema(kind, version) },
    subresources: { status: {} },
    // The API server refuses the same fields in versions whose schemas differ, also by a description alone.
    ...(version === VERSION && selectable(KINDS[kind])),
    additionalPrinterColumns: KINDS[kind].printerColumns.map(printerColumn),
  };
}

function selectable(definition: (typeof KINDS)[CustomKind]): object {
  if (!('selectableFields' in definition)) return {};
  return { selectableFields: definition.selectableFields.map((jsonPath) => ({ jsonPath })) };
}

/** The API server sends the warning with each response in this version; kubectl prints it. */
function deprecation(kind: CustomKind, version: ServedVersion): object {
  const deprecationWarning = `${GROUP}/${version} ${kind} is deprecated: use ${GROUP}/${VERSION}, which has the same fields`;
  return { deprecated: true, deprecationWarning };
}

function objectSchema(kind: CustomKind, version: ServedVersion): JsonSchema {
  const definition = KINDS[kind];
  return {
    description: definition.description,
    type: 'object',
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string', description: `The API version of the object: ${GROUP}/${version}.` },
      kind: { type: 'string', description: `The kind of the object: ${kind}.` },
      metadata: { type: 'object' },
      spec: withRules(transformSchema(structural(definition.spec, patternInWords), withTimePattern), definition.rules),
      status: structural(definition.status),
    },
  };
}

/** White space and line ends of JavaScript's regular expressions. Those of Go, in which the kube-apiserver evaluates patterns, are fewer. */
const WHITE_SPACE = '\\s\\v\\p{Z}\\x{FEFF}';
const LINE_ENDS = '\\n\\r\\x{2028}\\x{2029}';

/** The pattern for Go that matches the same texts as `pattern` does in JavaScript. */
function goPattern(pattern: string): string {
  let inClass = false;
  return pattern.replaceAll(/\\.|[[\].]/gs, (part) => {
    if (part === '[' || part === ']') inClass = part === '[';
    if (part === '\\s') return inClass ? WHITE_SPACE : `[${WHITE_SPACE}]`;
    if (part === '\\S' && !inClass) return `[^${WHITE_SPACE}]`;
    return part === '.' && !inClass ? `[^${LINE_ENDS}]` : part;
  });
}

/**
 * The API server counts the cost of a rule as if every list were full, so within long lists only the usual mistake is told in words, or none. What
 * is refused does not depend on it.
 */
const CHEAPER: Readonly<Record<string, string | undefined>> = {
  [ACTION_PATTERN]: undefined,
  [SRN_PATTERN]: "self == '*' || self.startsWith('srn2:')",
  [COLUMN_PATTERN]: undefined,
};

/** The rule by which the refusal of a text that breaks the pattern also says in words what would be right. */
function patternInWords(pattern: string): JsonSchema {
  const message = PATTERN_MEANINGS[pattern];
  const rule = pattern in CHEAPER ? CHEAPER[pattern] : `self.matches(${JSON.stringify(goPattern(pattern))})`;
  return message === undefined || rule === undefined ? {} : { 'x-kubernetes-validations': [{ rule, message }] };
}

/**
 * Converts a JSON schema to a structural schema. A CRD must not contain `uniqueItems` (`x-kubernetes-list-type: set` replaces it), nor
 * `additionalProperties: false` together with `properties` (clients validate unknown fields).
 * @param more keywords of a text with this pattern
 */
function structural(schema: object, more: (pattern: string) => JsonSchema = () => ({})): JsonSchema {
  return transformSchema(plainSchema(schema), (inner) => {
    const { $id: _id, uniqueItems: _unique, ...rest } = inner;
    const { pattern } = rest;
    // Written over the old one, so that the keywords keep their order.
    return typeof pattern === 'string' ? { ...rest, pattern: goPattern(pattern), ...more(pattern) } : rest;
  });
}

/** The API server's own `date-time` accepts times that its CEL or JavaScript cannot read. */
function withTimePattern(schema: JsonSchema): JsonSchema {
  return schema['format'] === 'date-time' ? { ...schema, pattern: TIME_PATTERN } : schema;
}

function withRules(schema: JsonSchema, rules: readonly Pick<Rule<never>, 'cel' | 'message'>[]): JsonSchema {
  if (rules.length === 0) return schema;
  return { ...schema, 'x-kubernetes-validations': rules.map(({ cel, message }) => ({ rule: cel, message })) };
}

function printerColumn(column: PrinterColumn): object {
  const { priority, ...rest } = column;
  return priority ? { ...rest, priority } : rest;
}

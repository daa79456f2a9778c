// The policy document as the form edits it: the text is the only state, and a change keeps every field that the form does not show.
import { matchesGlob } from '../../../lib/glob.ts';
import { prettyJson } from '../../../lib/format.ts';

/** A JSON object with the fields of a document, of which the form shows some. */
export type Fields = Readonly<Record<string, unknown>>;

export interface ReadDocument {
  readonly document: Fields;
  readonly statements: readonly Fields[];
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Strings, and the colon after the name of a field. */
const STRINGS = /"(?:[^"\\]|\\.)*"(\s*:)?/g;

function countFields(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + countFields(item), 0);
  if (!isFields(value)) return 0;
  return Object.values(value).reduce<number>((sum, item) => sum + 1 + countFields(item), 0);
}

/** Parsing keeps one of several fields with the same name, so that a change by the form would lose the others. */
function hasRepeatedField(text: string, value: unknown): boolean {
  let written = 0;
  for (const [, colon] of text.matchAll(STRINGS)) if (colon !== undefined) written++;
  return written !== countFields(value);
}

/** @returns why the form cannot show the text */
export function readDocument(text: string): ReadDocument | string {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return 'The document is not valid JSON.';
  }
  if (!isFields(document) || !Array.isArray(document['statements'])) return 'The document has no list `statements`.';
  const statements: readonly unknown[] = document['statements'];
  if (!statements.every(isFields)) return 'A statement of the document is not an object.';
  if (hasRepeatedField(text, document)) return 'The document has a field twice.';
  return { document, statements };
}

/** The text with other statements. */
export function withStatements({ document }: ReadDocument, statements: readonly Fields[]): string {
  return prettyJson({ ...document, statements });
}

/** An object with changed fields; a field that becomes undefined is left out. */
export function changed(fields: Fields, change: Fields): Fields {
  return Object.fromEntries(Object.entries({ ...fields, ...change }).filter(([, value]) => value !== undefined));
}

export interface ColumnsForm {
  readonly rule: 'all' | 'allow' | 'deny';
  readonly names: readonly string[];
  readonly mask: Readonly<Record<string, string>>;
}

export interface ConditionsForm {
  readonly rowFilters: readonly string[];
  readonly columns: ColumnsForm;
}

/** What the form shows of a statement. */
export interface StatementForm {
  readonly description: string;
  readonly effect: 'allow' | 'deny';
  /** Undefined: every action. */
  readonly actions: readonly string[] | undefined;
  readonly resources: readonly string[];
  /** Undefined where the statement has none. */
  readonly conditions: ConditionsForm | undefined;
  /** Paths of fields that only JSON can edit. */
  readonly others: readonly string[];
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

const STATEMENT_FIELDS = new Set(['description', 'effect', 'actions', 'resources', 'conditions']);
const CONDITIONS_FIELDS = new Set(['rowFilters', 'columns']);
const COLUMNS_FIELDS = new Set(['allow', 'deny', 'mask']);

const othersIn = (fields: Fields, known: ReadonlySet<string>, path: string): string[] =>
  Object.keys(fields).flatMap((name) => (known.has(name) ? [] : [path + name]));

/** @returns undefined where the form cannot show a field of the statement as it is */
export function formOf(statement: Fields): StatementForm | undefined {
  const { description = '', effect, actions, resources, conditions } = statement;
  if (typeof description !== 'string' || (effect !== 'allow' && effect !== 'deny')) return undefined;
  if ((actions !== undefined && !isTexts(actions)) || !isTexts(resources)) return undefined;
  const shown = conditions === undefined ? undefined : conditionsOf(conditions);
  if (conditions !== undefined && shown === undefined) return undefined;
  const others = [...othersIn(statement, STATEMENT_FIELDS, ''), ...othersOfConditions(conditions)];
  return { description, effect, actions, resources, conditions: shown, others };
}

function othersOfConditions(conditions: unknown): string[] {
  if (!isFields(conditions)) return [];
  const { columns } = conditions;
  return [
    ...othersIn(conditions, CONDITIONS_FIELDS, 'conditions.'),
    ...(isFields(columns) ? othersIn(columns, COLUMNS_FIELDS, 'conditions.columns.') : []),
  ];
}

function conditionsOf(conditions: unknown): ConditionsForm | undefined {
  if (!isFields(conditions)) return undefined;
  const { rowFilters = [], columns = {} } = conditions;
  if (!isTexts(rowFilters) || !isFields(columns)) return undefined;
  const { allow, deny, mask = {} } = columns;
  if ((allow !== undefined && !isTexts(allow)) || (deny !== undefined && !isTexts(deny))) return undefined;
  if (allow !== undefined && deny !== undefined) return undefined;
  if (!isFields(mask) || !Object.values(mask).every((text) => typeof text === 'string')) return undefined;
  const rule = allow !== undefined ? 'allow' : deny !== undefined ? 'deny' : 'all';
  return {
    rowFilters,
    columns: { rule, names: allow ?? deny ?? [], mask: mask as Readonly<Record<string, string>> },
  };
}

export const NO_CONDITIONS: ConditionsForm = { rowFilters: [], columns: { rule: 'all', names: [], mask: {} } };

/** The statement with other conditions. Fields that the form does not show stay; without any field there are no conditions. */
export function withConditions(statement: Fields, { rowFilters, columns }: ConditionsForm): Fields {
  const old = isFields(statement['conditions']) ? statement['conditions'] : {};
  const oldColumns = isFields(old['columns']) ? old['columns'] : {};
  const { rule, names, mask } = columns;
  const newColumns = changed(oldColumns, {
    allow: rule === 'allow' ? names : undefined,
    deny: rule === 'deny' ? names : undefined,
    mask: Object.keys(mask).length === 0 ? undefined : mask,
  });
  const conditions = changed(old, {
    rowFilters: rowFilters.length === 0 ? undefined : rowFilters,
    columns: Object.keys(newColumns).length === 0 ? undefined : newColumns,
  });
  return changed(statement, { conditions: Object.keys(conditions).length === 0 ? undefined : conditions });
}

const TABLE = /^srn2:table#[^:#]+$/;

/** Whether the gateway accepts conditions in the statement. */
export function mayHaveConditions({ effect, actions, resources }: StatementForm): boolean {
  return (
    effect === 'allow' &&
    actions?.length === 1 &&
    actions[0] === 'Query' &&
    resources.length > 0 &&
    resources.every((resource) => TABLE.test(resource))
  );
}

/** The kinds of resources, such as `table`; `*` for patterns of every kind. */
export function kindsOf(resources: readonly string[]): string[] {
  const kinds = resources.map((resource) => /^srn2:(?:[^:]*:)*([a-z-]+)#[^:#]+$/.exec(resource)?.[1] ?? '*');
  return [...new Set(kinds)];
}

/** The errors of a message of the gateway, by their path in the document, such as `statements[0].conditions.rowFilters[1]`. */
export function errorsByPath(message: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const [, ...parts] = `; ${message}`.split(/[;:] (?=statements\[\d+\])/);
  for (const part of parts) {
    const [, path, text] = /^(\S+): ([\s\S]*)$/.exec(part) ?? [];
    if (path !== undefined && text !== undefined && !found.has(path)) found.set(path, text);
  }
  return found;
}

/** Fields of a statement that show their errors themselves. */
const SHOWN = /^\.(?:actions|resources|conditions$|conditions\.rowFilters\[|conditions\.columns)/;

/** The errors of a statement that no field shows, as texts. @param isShown whether the form shows its fields */
export function otherErrors(errors: ReadonlyMap<string, string>, index: number, isShown: boolean): string[] {
  const prefix = `statements[${index}]`;
  return [...errors].flatMap(([path, message]) => {
    const rest = path.slice(prefix.length);
    if (!path.startsWith(prefix) || (isShown && SHOWN.test(rest))) return [];
    return [rest === '' ? message : `\`${rest.slice(1)}\`: ${message}`];
  });
}

const CALLER_VALUE = /\$\{\s*(subject\.[\w.-]+)\s*\}/g;

/** The values of the caller in all row filters, such as `subject.email`. */
export function valuesIn(forms: readonly (StatementForm | undefined)[]): string[] {
  const filters = forms.flatMap((form) => form?.conditions?.rowFilters ?? []);
  return [...new Set(filters.flatMap((text) => [...text.matchAll(CALLER_VALUE)].map(([, name = '']) => name)))];
}

/** The tables whose queries the document allows, as far as it names them or `known` has them. */
export function tablesIn(forms: readonly (StatementForm | undefined)[], known: readonly string[]): string[] {
  const resources = forms.flatMap((form) => (form !== undefined && allowsQuery(form) ? form.resources : []));
  return [...new Set(resources.flatMap((resource) => matchingTables(resource, known)))];
}

function allowsQuery({ effect, actions }: StatementForm): boolean {
  return effect === 'allow' && (actions === undefined || actions.includes('Query') || actions.includes('*'));
}

function matchingTables(resource: string, known: readonly string[]): readonly string[] {
  if (resource === '*') return known;
  const pattern = /^srn2:(?:[^#]+#[^:#]+:)*table#([^:#]+)$/.exec(resource)?.[1];
  if (pattern === undefined) return [];
  if (!pattern.includes('*')) return [pattern];
  return known.filter((table) => matchesGlob(pattern, table));
}

const PLAIN = /^[A-Za-z_]\w*$/;
/** Words of SQL that columns are often named by. */
const WORDS =
  /^(?:count|date|day|end|group|hour|max|min|minute|month|order|row|rows|second|start|sum|time|timestamp|user|value|year)$/i;
const inQuotes = (name: string): string => `"${name.replaceAll('"', '""')}"`;
/** The name of a column in SQL. */
const quoted = (name: string): string => (PLAIN.test(name) && !WORDS.test(name) ? name : inQuotes(name));

/** A query of all columns. @param table with its database, if that is not the default one */
export function queryOf(table: string): string {
  const dot = table.indexOf('.');
  const parts = dot < 0 ? [table] : [table.slice(0, dot), table.slice(dot + 1)];
  return `SELECT * FROM ${parts.map(inQuotes).join('.')} LIMIT 10`;
}

/** What is read in place of a column: choices for its values. */
export const MASKS: readonly { readonly label: string; readonly of: (column: string) => string }[] = [
  { label: 'the same text in each row', of: () => "'hidden'" },
  { label: 'a hash, equal for equal texts', of: (column) => `sha256(toUtf8(${quoted(column)}))` },
  { label: 'the first character', of: (column) => `concat(substr(${quoted(column)}, 0, 1), '***', '')` },
  { label: 'a number rounded to hundreds', of: (column) => `floor(${quoted(column)} / 100) * 100` },
  { label: 'the number 0', of: (column) => `${quoted(column)} * 0` },
];

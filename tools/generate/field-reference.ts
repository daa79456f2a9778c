import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { plainSchema, type JsonSchema } from '../../src/resources/json-schema.ts';
import { CUSTOM_KINDS, KINDS } from '../../src/resources/kinds.ts';
import type { GeneratedFiles } from './generator.ts';

const BEGIN = '<!-- fields: generated from the schema by `make generate`; do not edit below -->';
const END = '<!-- end of fields -->';

/** Generates the chapter "Fields" of docs/resources/<kind>.md; the other chapters are written by hand. */
export async function generateFieldReference(root: string): Promise<GeneratedFiles> {
  const files = new Map<string, string>();
  for (const kind of CUSTOM_KINDS) {
    const path = `docs/resources/${KINDS[kind].singular}.md`;
    const page = await readFile(join(root, path), 'utf8');
    const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
    if (begin < 0 || end < begin) throw new Error(`${path}: missing lines \`${BEGIN}\` and \`${END}\``);
    const { spec, status, rules } = KINDS[kind];
    const chapter = [
      BEGIN,
      '### spec',
      '',
      ...table(plainSchema(spec), 'spec'),
      ...(rules.length > 0 ? ['', 'Rules:', ...rules.map(({ message }) => `- ${message}`)] : []),
      '',
      '### status',
      '',
      ...table(plainSchema(status), 'status'),
      '',
    ];
    files.set(path, page.slice(0, begin) + chapter.join('\n') + page.slice(end));
  }
  return files;
}

function table(schema: JsonSchema, path: string): string[] {
  const rows = fields(schema, path).map((cells) => `| ${cells.map(escape).join(' | ')} |`);
  return ['| field | type | allowed | meaning |', '|---|---|---|---|', ...rows];
}

function escape(cell: string): string {
  return cell.replaceAll('|', '\\|');
}

/** Rows of all fields, each followed by its nested fields. */
function fields(schema: JsonSchema, path: string): string[][] {
  const rows: string[][] = [];
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const at = `${path}.${name}`;
    const allowed = schema.required?.includes(name) ? ['required', ...limits(field)] : limits(field);
    rows.push([
      `\`${at}\``,
      typeOf(field),
      allowed.join('; '),
      text(field['description'] ?? '').replaceAll('<', '&lt;'),
    ]);
    rows.push(...within(field, at));
  }
  return rows;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

function within(field: JsonSchema, at: string): string[][] {
  if (field.items) return fields(field.items, `${at}[]`);
  return fields(field, at);
}

function typeOf(field: JsonSchema): string {
  if (field.type === 'array') return `list of ${field.items ? typeOf(field.items) : 'anything'}`;
  if (typeof field.additionalProperties === 'object') return `map to ${typeOf(field.additionalProperties)}`;
  return field['format'] === 'date-time' ? 'time (RFC 3339)' : (field.type ?? 'anything');
}

function limits(field: JsonSchema): string[] {
  const { enum: values, items } = field;
  const parts: string[] = [];
  if (Array.isArray(values)) parts.push(`one of ${values.map((value) => `\`${value}\``).join(', ')}`);
  if (field.default !== undefined) parts.push(`default \`${text(field.default)}\``);
  if (field['minimum'] !== undefined) parts.push(`${text(field['minimum'])}–${text(field['maximum'])}`);
  if (field['maxLength'] !== undefined) parts.push(`at most ${text(field['maxLength'])} characters`);
  if (field['maxItems'] !== undefined) parts.push(`${text(field['minItems'] ?? 0)}–${text(field['maxItems'])} entries`);
  if (field['maxProperties'] !== undefined) parts.push(`at most ${text(field['maxProperties'])} entries`);
  const pattern = field['pattern'] ?? items?.['pattern'];
  if (pattern !== undefined) parts.push(`pattern \`${text(pattern)}\``);
  return parts;
}

import type { PropertySet } from './property-set.ts';
import { SETTING_KEYS } from './schema.ts';
import { variableOf } from './settings.ts';
import { formatDuration } from '../platform/duration.ts';
import type { SettingSchema } from '../platform/setting-schema.ts';
import { formatBytes } from './value.ts';

/** The settings of the process as a Markdown table. */
export function settingsTable(): string {
  const rows = [...SETTING_KEYS].map(([key, schema]) => {
    const variables = [variableOf(key), ...(schema.env === undefined ? [] : [schema.env])];
    return [
      `\`${key}\``,
      variables.map((name) => `\`${name}\``).join(', '),
      valuesOf(schema),
      defaultOf(schema),
      schema.description,
    ];
  });
  return table(['Key and flag', 'Environment', 'Values', 'Default', 'Meaning'], rows);
}

/** The `olap.*` and `controller.*` keys as a Markdown table. */
export function propertiesTable(properties: PropertySet): string {
  const rows = [...properties.keys].map(([key, schema]) => [
    `\`${key}\``,
    valuesOf(schema),
    defaultOf(schema),
    schema.live ? 'immediately' : 'after a restart',
    schema.description,
  ]);
  return table(['Key', 'Values', 'Default', 'Changes take effect', 'Meaning'], rows);
}

/** The flags for `--help`, one per line. */
export function flagsHelp(): string {
  const width = Math.max(...[...SETTING_KEYS.keys()].map((key) => key.length)) + 1;
  return [...SETTING_KEYS]
    .map(([key, schema]) => `  --${key.padEnd(width)}${plain(`${schema.description} (default: ${defaultOf(schema)})`)}`)
    .join('\n');
}

/** Strips Markdown: `See [rbac.md](rbac.md#the-audit-log)` becomes `See docs/rbac.md`. */
function plain(markdown: string): string {
  return markdown
    .replaceAll(/\[([^\]]*)\]\(([^#)]*)[^)]*\)/g, (_link, text: string, file: string) =>
      text === file ? `docs/${file}` : `${text} (docs/${file})`,
    )
    .replaceAll('`', '');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function valuesOf(schema: SettingSchema): string {
  if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(', ');
  if (schema.type === 'boolean') return '`true`, `false`';
  if (schema.unit === 'duration') return `duration${schema.unsetWord === undefined ? '' : `, \`${schema.unsetWord}\``}`;
  if (schema.unit === 'bytes') return 'size';
  if (schema.type === 'integer') return rangeOf(schema);
  const one = { url: 'URL', path: 'path', secret: 'text', duration: '', bytes: '' }[schema.unit ?? 'secret'];
  return schema.type === 'array' ? `list of ${one}s` : one;
}

function rangeOf({ minimum, maximum }: SettingSchema): string {
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`;
  return minimum === undefined ? 'integer' : `integer ≥ ${minimum}`;
}

function defaultOf(schema: SettingSchema): string {
  if (schema.computedDefault !== undefined) return schema.computedDefault;
  const { default: value } = schema;
  if (value === undefined || value === '') return 'none';
  if (Array.isArray(value))
    return value.length === 0 ? 'none' : value.map((entry) => `\`${String(entry)}\``).join(', ');
  if (schema.unit === 'duration') return `\`${formatDuration(Number(value))}\``;
  if (schema.unit === 'bytes') return `\`${formatBytes(Number(value))}\``;
  return `\`${JSON.stringify(value).replaceAll('"', '')}\``;
}

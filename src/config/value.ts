import { DURATION_EXAMPLE, formatDuration, parseDuration } from '../platform/duration.ts';
import type { SettingSchema } from '../platform/setting-schema.ts';

const BYTE_UNITS: Readonly<Record<string, number>> = { B: 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3, TB: 1024 ** 4 };

/** Milliseconds, as a whole number or with units. */
function parseMilliseconds(value: string): number | undefined {
  return /^\d+$/.test(value) ? Number(value) : parseDuration(value);
}

/** Bytes, or undefined for a text that is not a size. */
export function parseBytes(value: string): number | undefined {
  const [, amount, unit = 'B'] = /^(\d+) ?(B|KB|MB|GB|TB)?$/i.exec(value) ?? [];
  return amount === undefined ? undefined : Number(amount) * (BYTE_UNITS[unit.toUpperCase()] ?? Number.NaN);
}

export function formatBytes(value: number): string {
  for (const unit of ['TB', 'GB', 'MB', 'KB'] as const) {
    const size = BYTE_UNITS[unit] ?? 1;
    if (value % size === 0) return `${value / size}${unit}`;
  }
  return String(value);
}

export type Parsed = { readonly value: unknown } | { readonly problem: string };

/**
 * Parses a raw value from a flag, a variable or a file.
 * @returns `value` (undefined for `unsetWord`), or `problem`, which completes a sentence that begins with the value
 */
export function parseValue(schema: SettingSchema, raw: unknown): Parsed {
  if (schema.unsetWord !== undefined && raw === schema.unsetWord) return { value: undefined };
  if (schema.type === 'array') return parseList(schema, raw);
  if (raw === null || typeof raw === 'object')
    return { problem: `is not a single value; it must be ${kindOf(schema)}` };
  const value = (typeof raw === 'string' ? raw : (JSON.stringify(raw) ?? '')).trim();
  if (schema.type === 'boolean') return parseFlag(value);
  return schema.type === 'integer' ? parseNumber(schema, value) : parseText(schema, value);
}

function parseList(schema: SettingSchema, raw: unknown): Parsed {
  const entries = Array.isArray(raw) ? raw : String(raw).split(',');
  const values: unknown[] = [];
  for (const entry of entries) {
    const trimmed = String(entry).trim();
    if (trimmed === '') continue;
    const parsed = parseText(schema, trimmed);
    if ('problem' in parsed) return { problem: `contains \`${trimmed}\`, which ${parsed.problem}` };
    values.push(parsed.value);
  }
  return { value: values };
}

function parseFlag(value: string): Parsed {
  if (/^(true|yes|on|1)$/i.test(value)) return { value: true };
  if (/^(false|no|off|0)$/i.test(value)) return { value: false };
  return { problem: 'must be `true` or `false`' };
}

function parseNumber(schema: SettingSchema, text: string): Parsed {
  const value =
    schema.unit === 'duration'
      ? parseMilliseconds(text)
      : schema.unit === 'bytes'
        ? parseBytes(text)
        : /^-?\d+$/.test(text)
          ? Number(text)
          : undefined;
  if (value === undefined || !Number.isSafeInteger(value)) return { problem: `is not ${kindOf(schema)}` };
  const show = (limit: number): string =>
    schema.unit === 'duration' ? formatDuration(limit) : schema.unit === 'bytes' ? formatBytes(limit) : String(limit);
  if (schema.minimum !== undefined && value < schema.minimum)
    return { problem: `is too small: the minimum is ${show(schema.minimum)}` };
  if (schema.maximum !== undefined && value > schema.maximum)
    return { problem: `is too large: the maximum is ${show(schema.maximum)}` };
  return { value };
}

function parseText(schema: SettingSchema, value: string): Parsed {
  if (schema.enum && !schema.enum.includes(value)) {
    return { problem: `is not one of ${schema.enum.map((name) => `\`${name}\``).join(', ')}` };
  }
  if (schema.unit === 'url' && !/^https?:$/.test(URL.parse(value)?.protocol ?? ''))
    return { problem: 'is not a URL such as `http://pinot-controller:9000`' };
  if (schema.pattern !== undefined && !new RegExp(schema.pattern).test(value))
    return { problem: `is not ${schema.expected ?? `of the form ${schema.pattern}`}` };
  return { value: schema.unit === 'url' ? value.replace(/\/+$/, '') : value };
}

/** The kind of value that a schema allows, for messages. */
export function kindOf(schema: SettingSchema): string {
  if (schema.unit === 'duration') return DURATION_EXAMPLE;
  if (schema.unit === 'bytes') return 'a size such as `256MB`';
  const words = { string: 'text', integer: 'an integer', boolean: '`true` or `false`', array: 'a list of texts' };
  return words[schema.type];
}

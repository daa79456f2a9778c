import { DURATION_EXAMPLE, formatDuration, parseDuration } from '../platform/duration.ts';
import { Type, type TArray, type TBoolean, type TInteger, type TSchema, type TString } from 'typebox';

/** How the text of a setting is parsed, in addition to its JSON schema. */
export type Unit = 'duration' | 'bytes' | 'path' | 'url' | 'secret';

export interface SettingOptions {
  readonly description: string;
  readonly default?: unknown;
  /** A further environment variable, in addition to the one derived from the key. */
  readonly env?: string;
  /** Description of a computed default, for the documentation. */
  readonly computedDefault?: string;
  /** True when a change takes effect without a restart. */
  readonly live?: boolean;
  /** A value that means "not set". */
  readonly unsetWord?: string;
}

/** The schema of a setting, as used by the parser and the documentation. */
export interface SettingSchema {
  readonly type: 'string' | 'integer' | 'boolean' | 'array';
  readonly description: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly unit?: Unit;
  readonly env?: string;
  readonly computedDefault?: string;
  readonly live?: boolean;
  readonly unsetWord?: string;
  /** What a text that does not match `pattern` should be; follows "is not". */
  readonly expected?: string;
}

export const text = (options: SettingOptions & { unit?: Unit; pattern?: string; expected?: string }): TString =>
  Type.String({ ...options });
export const integer = (options: SettingOptions & { minimum?: number; maximum?: number }): TInteger =>
  Type.Integer({ ...options });
export const flag = (options: SettingOptions): TBoolean => Type.Boolean({ ...options });
export const choice = <const T extends readonly string[]>(values: T, options: SettingOptions) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values], ...options });
/** Several texts, as a list or separated by commas. */
export const texts = (
  options: SettingOptions & { unit?: Unit; pattern?: string; expected?: string },
): TArray<TString> => Type.Array(Type.String(), { ...options });
/** Milliseconds. Written as `500ms`, `20m`, `1h30m`, `1d`, or as a plain number of milliseconds. */
export const duration = (options: SettingOptions & { minimum?: number; maximum?: number }): TInteger =>
  Type.Integer({ minimum: 0, maximum: MAX_DURATION_MS, ...options, unit: 'duration' });
/** Bytes. Written as `512KB`, `256MB`, `10GB` (factors of 1024), or as a plain number of bytes. */
export const bytes = (options: SettingOptions & { minimum?: number }): TInteger =>
  Type.Integer({ minimum: 1, ...options, unit: 'bytes' });

export const settingSchema = (schema: TSchema): SettingSchema => schema as unknown as SettingSchema;

/** Upper limit of a duration. */
const MAX_DURATION_MS = 365 * 86_400_000;

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

import { Type, type TArray, type TBoolean, type TInteger, type TSchema, type TString } from 'typebox';

/** How the text of a setting becomes its value, beside what JSON Schema says. */
export type Unit = 'duration' | 'bytes' | 'path' | 'url' | 'secret';

export interface SettingOptions {
  readonly description: string;
  readonly default?: unknown;
  /** A further environment variable, beside the one that is made from the key. */
  readonly env?: string;
  /** What the documentation says in place of a default that is computed. */
  readonly computedDefault?: string;
  /** True where a change is in force without a restart. */
  readonly live?: boolean;
  /** A word that stands for "not set". */
  readonly unsetWord?: string;
}

/** A setting's schema as the parser and the documentation read it. */
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
  /** Said of a text that does not match `pattern`. */
  readonly expected?: string;
}

export const text = (options: SettingOptions & { unit?: Unit; pattern?: string; expected?: string }): TString =>
  Type.String({ ...options });
export const integer = (options: SettingOptions & { minimum?: number; maximum?: number }): TInteger =>
  Type.Integer({ ...options });
export const flag = (options: SettingOptions): TBoolean => Type.Boolean({ ...options });
export const choice = <const T extends readonly string[]>(values: T, options: SettingOptions) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values], ...options });
/** Several texts, separated by commas or as a list. */
export const texts = (
  options: SettingOptions & { unit?: Unit; pattern?: string; expected?: string },
): TArray<TString> => Type.Array(Type.String(), { ...options });
/** Milliseconds. Written with units: `500ms`, `20m`, `1h30m`, `1d`; a bare number is milliseconds too. */
export const duration = (options: SettingOptions & { minimum?: number; maximum?: number }): TInteger =>
  Type.Integer({ minimum: 0, maximum: MAX_DURATION_MS, ...options, unit: 'duration' });
/** Bytes. Written with units: `512KB`, `256MB`, `10GB`, each 1024 times the one before; a bare number is bytes too. */
export const bytes = (options: SettingOptions & { minimum?: number }): TInteger =>
  Type.Integer({ minimum: 1, ...options, unit: 'bytes' });

export const settingSchema = (schema: TSchema): SettingSchema => schema as unknown as SettingSchema;

/** What no timer of Node can wait for is refused, not cut. */
const MAX_DURATION_MS = 365 * 86_400_000;

const DURATION_UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
const BYTE_UNITS: Readonly<Record<string, number>> = { B: 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3, TB: 1024 ** 4 };

/** Milliseconds, or undefined for what is no duration. */
export function parseDuration(value: string): number | undefined {
  if (/^\d+$/.test(value)) return Number(value);
  if (!/^(\d+(ms|s|m|h|d|w))+$/.test(value)) return undefined;
  let total = 0;
  for (const [, amount, unit = ''] of value.matchAll(/(\d+)(ms|s|m|h|d|w)/g)) {
    total += Number(amount) * (DURATION_UNITS[unit] ?? Number.NaN);
  }
  return total;
}

/** Bytes, or undefined for what is no size. */
export function parseBytes(value: string): number | undefined {
  const [, amount, unit = 'B'] = /^(\d+) ?(B|KB|MB|GB|TB)?$/i.exec(value) ?? [];
  return amount === undefined ? undefined : Number(amount) * (BYTE_UNITS[unit.toUpperCase()] ?? Number.NaN);
}

/** The shortest spelling with a unit that is the same duration. @param ms milliseconds */
export function formatDuration(ms: number): string {
  for (const unit of ['d', 'h', 'm', 's'] as const) {
    const size = DURATION_UNITS[unit] ?? 1;
    if (ms > 0 && ms % size === 0) return `${ms / size}${unit}`;
  }
  return `${ms}ms`;
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
 * A raw value, from a flag, a variable or a file, as what its schema says.
 * @returns `value` (undefined where the word for "not set" stands), or `problem`, which follows "`value` …" in a sentence
 */
export function parseValue(schema: SettingSchema, raw: unknown): Parsed {
  if (schema.unsetWord !== undefined && raw === schema.unsetWord) return { value: undefined };
  if (schema.type === 'array') return parseList(schema, raw);
  if (raw === null || typeof raw === 'object')
    return { problem: `is not a single value, but should be ${kindOf(schema)}` };
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
    if ('problem' in parsed) return { problem: `holds \`${trimmed}\`, which ${parsed.problem}` };
    values.push(parsed.value);
  }
  return { value: values };
}

function parseFlag(value: string): Parsed {
  if (/^(true|yes|on|1)$/i.test(value)) return { value: true };
  if (/^(false|no|off|0)$/i.test(value)) return { value: false };
  return { problem: 'is neither `true` nor `false`' };
}

function parseNumber(schema: SettingSchema, text: string): Parsed {
  const value =
    schema.unit === 'duration'
      ? parseDuration(text)
      : schema.unit === 'bytes'
        ? parseBytes(text)
        : /^-?\d+$/.test(text)
          ? Number(text)
          : undefined;
  if (value === undefined || !Number.isSafeInteger(value)) return { problem: `is not ${kindOf(schema)}` };
  const show = (limit: number): string =>
    schema.unit === 'duration' ? formatDuration(limit) : schema.unit === 'bytes' ? formatBytes(limit) : String(limit);
  if (schema.minimum !== undefined && value < schema.minimum)
    return { problem: `is too small: the least is ${show(schema.minimum)}` };
  if (schema.maximum !== undefined && value > schema.maximum)
    return { problem: `is too large: the most is ${show(schema.maximum)}` };
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

/** What a value of this schema is, in words. */
export function kindOf(schema: SettingSchema): string {
  if (schema.unit === 'duration') return 'a duration such as `30m` or `1h`';
  if (schema.unit === 'bytes') return 'a size such as `256MB`';
  const words = { string: 'a text', integer: 'a whole number', boolean: '`true` or `false`', array: 'a list of texts' };
  return words[schema.type];
}

import { Type, type TArray, type TBoolean, type TInteger, type TProperties, type TSchema, type TString } from 'typebox';

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

/** Properties by key, such as `olap.broker.pagination.expiration`; only those that are set or have a default. */
export type PropertyValues = Readonly<Record<string, unknown>>;

/** The properties that one part of the program declares. */
export interface PropertyGroup {
  /** Schemas by key. */
  readonly properties: TProperties;
  /**
   * Checks rules that a schema cannot express.
   * @param values valid values of all groups
   * @returns one sentence for each problem
   */
  readonly problems?: (values: PropertyValues) => readonly string[];
}

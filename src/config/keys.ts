import type { TProperties } from 'typebox';
import { settingSchema, type SettingSchema } from '../platform/setting-schema.ts';
import { parseValue } from './value.ts';

/** A raw value and its source: `flag --port`, `environment variable PORT`, `settings.yaml`. */
export interface WrittenKey {
  readonly key: string;
  readonly raw: unknown;
  readonly source: string;
}

/** Finds the known name closest to a misspelt one. */
export type Suggest = (name: string, known: Iterable<string>) => string | undefined;

/** All problems of the settings, one per line. */
export class SettingsError extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'SettingsError';
    this.problems = problems;
  }
}

/** The keys with the schemas of their values. */
export function keysOf(properties: TProperties): ReadonlyMap<string, SettingSchema> {
  return new Map(Object.entries(properties).map(([key, value]) => [key, settingSchema(value)]));
}

/** The parsed values, and the problems of the others. */
export interface Resolution {
  readonly values: Record<string, unknown>;
  readonly problems: string[];
}

/**
 * Parses raw values and adds defaults.
 * @param written later entries override earlier ones
 */
export function resolve(keys: ReadonlyMap<string, SettingSchema>, written: readonly WrittenKey[]): Resolution {
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [key, schema] of keys) if (schema.default !== undefined) values[key] = schema.default;
  for (const { key, raw, source } of written) {
    const schema = keys.get(key);
    if (!schema) continue;
    const parsed = parseValue(schema, raw);
    if ('problem' in parsed) problems.push(`${source}: \`${key}\`: ${show(schema, raw)} ${parsed.problem}`);
    else if (parsed.value === undefined) delete values[key];
    else values[key] = parsed.value;
  }
  return { values, problems };
}

export function unknownKey({ key, source }: WrittenKey, known: Iterable<string>, suggest: Suggest): string {
  const meant = suggest(key, known);
  return `${source}: unknown key \`${key}\`${meant === undefined ? '; docs/configuration.md lists all keys' : `; did you mean \`${meant}\`?`}`;
}

const SHOWN_LENGTH = 80;

function show(schema: SettingSchema, raw: unknown): string {
  if (schema.unit === 'secret') return 'the value';
  const text = typeof raw === 'string' ? raw : (JSON.stringify(raw) ?? 'nothing');
  return `\`${text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH - 1)}…` : text}\``;
}

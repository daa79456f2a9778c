import { settingSchema, parseValue, type SettingSchema } from './value.ts';
import type { TObject } from 'typebox';

/** A value as it was written, and where: `flag --port`, `environment variable PORT`, `settings.yaml`. */
export interface Written {
  readonly key: string;
  readonly raw: unknown;
  readonly source: string;
}

/** Finds what was probably meant by a misspelt name. */
export type Suggest = (name: string, known: Iterable<string>) => string | undefined;

/** Everything that is wrong with the settings, a line each. */
export class SettingsError extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'SettingsError';
    this.problems = problems;
  }
}

/** The keys of a schema, each with the schema of its value. */
export function keysOf(schema: TObject): ReadonlyMap<string, SettingSchema> {
  return new Map(Object.entries(schema.properties).map(([key, value]) => [key, settingSchema(value)]));
}

/** Values, and what was wrong with some of them. */
export interface Resolution {
  readonly values: Record<string, unknown>;
  readonly problems: string[];
}

/**
 * Turns what was written into values; defaults fill in the rest.
 * @param written later entries win over earlier ones
 */
export function resolve(keys: ReadonlyMap<string, SettingSchema>, written: readonly Written[]): Resolution {
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

export function unknownKey({ key, source }: Written, known: Iterable<string>, suggest: Suggest): string {
  const meant = suggest(key, known);
  return `${source}: \`${key}\` is not a known key${meant === undefined ? '; docs/configuration.md lists all keys' : `; did you mean \`${meant}\`?`}`;
}

const SHOWN_LENGTH = 80;

function show(schema: SettingSchema, raw: unknown): string {
  if (schema.unit === 'secret') return 'the value';
  const text = typeof raw === 'string' ? raw : (JSON.stringify(raw) ?? 'nothing');
  return `\`${text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH - 1)}…` : text}\``;
}

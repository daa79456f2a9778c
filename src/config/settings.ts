import { parseArgs } from 'node:util';
import { readConfigFile } from './file.ts';
import {
  FORMER_NAMES,
  isRemovedKey,
  presentKey,
  withPresentNames,
  type FormerNames,
  type PresentNames,
} from './former-names.ts';
import { resolve, SettingsError, unknownKey, type Suggest, type WrittenKey } from './keys.ts';
import type { Properties } from './properties.ts';
import type { PropertySet } from './property-set.ts';
import { SETTING_KEYS, settingsProblems, type Settings } from './schema.ts';
import type { SettingSchema } from '../platform/setting-schema.ts';
import { parseValue } from './value.ts';

export interface SettingsSources {
  /** Arguments after the command's name. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The keys that `--set` and the file may contain in addition to the settings of the process. */
  readonly properties: PropertySet;
  readonly suggest: Suggest;
  /** Default: `FORMER_NAMES`. */
  readonly formerNames?: FormerNames;
}

export interface LoadedSettings {
  readonly settings: Settings;
  readonly properties: Properties;
  /** The configuration file, for LiveProperties. */
  readonly file: string | undefined;
  /** Properties from flags; they override the file. */
  readonly fixedProperties: readonly WrittenKey[];
  /** One sentence for each former key that was used. */
  readonly warnings: readonly string[];
}

const ENV_PREFIX = 'OLAP_WARDEN_';

/**
 * Loads the settings. Flags override environment variables, which override the file, which overrides the defaults.
 * @throws {SettingsError} all problems, each with its source, its key and what would be right
 */
export async function loadSettings(sources: SettingsSources): Promise<LoadedSettings> {
  const names = sources.formerNames ?? FORMER_NAMES;
  const flags = readFlags({ ...sources, names });
  const environment = readEnvironment(sources.env, sources.suggest, names);
  const file = flags.file ?? sources.env[`${ENV_PREFIX}CONFIG`];
  const fromFile = withPresentNames(file === undefined ? [] : await readConfigFile(file), names);

  const settings = resolve(SETTING_KEYS, [...fromFile.written, ...environment.written, ...flags.written]);
  const properties = sources.properties.resolve([...fromFile.written, ...flags.properties]);
  const problems = [
    ...flags.problems,
    ...environment.problems,
    ...fromFile.problems,
    ...unknownInFile(fromFile.written, sources.properties, sources.suggest),
    ...settings.problems,
    ...properties.problems,
  ];
  if (settings.problems.length === 0) problems.push(...settingsProblems(settings.values as Settings));
  if (problems.length > 0) throw new SettingsError(problems);
  return {
    settings: settings.values as Settings,
    properties: properties.values as Properties,
    file,
    fixedProperties: flags.properties,
    warnings: [...fromFile.warnings, ...environment.warnings, ...flags.warnings],
  };
}

/** Problems of keys in a file that are unknown, and so would have no effect. */
export function unknownInFile(written: readonly WrittenKey[], properties: PropertySet, suggest: Suggest): string[] {
  const known = [...SETTING_KEYS.keys(), ...properties.keys.keys()];
  const all = new Set(known);
  return written.filter(({ key }) => !all.has(key)).map((entry) => unknownKey(entry, known, suggest));
}

interface Flags {
  readonly written: WrittenKey[];
  readonly properties: WrittenKey[];
  readonly problems: string[];
  file: string | undefined;
}

/** What is known about names. */
interface Known extends Pick<SettingsSources, 'properties' | 'suggest'> {
  readonly names: FormerNames;
}

/** For `parseArgs`: every setting, and the two flags that are not settings. */
const FLAGS: Readonly<Record<string, { readonly type: 'string' | 'boolean' }>> = {
  config: { type: 'string' },
  set: { type: 'string' },
  ...Object.fromEntries(
    [...SETTING_KEYS].map(([key, { type }]) => [key, { type: type === 'boolean' ? 'boolean' : 'string' } as const]),
  ),
};

type ArgumentToken = NonNullable<ReturnType<typeof parseArgs>['tokens']>[number];

/** `parseArgs` is not strict here: it would stop at the first problem, and all problems are reported together. */
function readFlags({ args, ...known }: Known & Pick<SettingsSources, 'args'>): Flags & PresentNames {
  const flags: Flags = { written: [], properties: [], problems: [], file: undefined };
  const { tokens } = parseArgs({
    args: [...args],
    options: FLAGS,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  for (let index = 0; index < tokens.length; index += 1) {
    const token = tokens[index] as ArgumentToken;
    if (token.kind !== 'option' || !token.rawName.startsWith('--')) {
      flags.problems.push(`unexpected argument \`${args[token.index]}\`: flags begin with \`--\``);
      continue;
    }
    const following = token.value === undefined ? positional(tokens[index + 1]) : undefined;
    const schema = SETTING_KEYS.get(presentKey(token.name, known.names));
    const used = following !== undefined && belongsTo(schema, following);
    if (used) index += 1;
    addFlag(flags, token.name, token.value ?? (used ? following : valueAlone(schema)), known);
  }
  const written = withPresentNames(flags.written, known.names);
  const properties = withPresentNames(flags.properties, known.names);
  return {
    written: joinRepeated(written.written),
    properties: properties.written,
    problems: [...flags.problems, ...written.problems, ...properties.problems],
    warnings: [...written.warnings, ...properties.warnings],
    file: flags.file,
  };
}

function positional(token: ArgumentToken | undefined): string | undefined {
  return token?.kind === 'positional' ? token.value : undefined;
}

/** Whether an argument after a flag is its value. `--switch false` is allowed; after an unknown flag the argument is not reported again. */
function belongsTo(schema: SettingSchema | undefined, argument: string): boolean {
  return schema?.type !== 'boolean' || !('problem' in parseValue(schema, argument));
}

/** The value of a flag without one: a switch alone means true. */
function valueAlone(schema: SettingSchema | undefined): string | undefined {
  return schema?.type === 'boolean' ? 'true' : undefined;
}

function addFlag(flags: Flags, name: string, raw: string | undefined, known: Known): void {
  const source = `flag --${name}`;
  if (isRemovedKey(name, known.names)) {
    flags.written.push({ key: name, raw, source });
  } else if (name !== 'config' && name !== 'set' && !SETTING_KEYS.has(presentKey(name, known.names))) {
    flags.problems.push(unknownFlag(name, known.suggest));
  } else if (raw === undefined) {
    flags.problems.push(`${source}: missing value`);
  } else if (name === 'config') {
    flags.file = raw;
  } else if (name === 'set') {
    addProperty(flags, raw, known);
  } else {
    flags.written.push({ key: name, raw, source });
  }
}

function unknownFlag(name: string, suggest: Suggest): string {
  const meant = suggest(name, ['config', 'set', 'help', 'version', ...SETTING_KEYS.keys()]);
  return `unknown flag \`--${name}\`; ${meant === undefined ? '`--help` lists them' : `did you mean \`--${meant}\`?`}`;
}

function addProperty(flags: Flags, text: string, { properties, suggest, names }: Known): void {
  const at = text.indexOf('=');
  const entry = { key: text.slice(0, at).trim(), raw: text.slice(at + 1), source: 'flag --set' };
  if (at < 1) flags.problems.push('flag --set: the value must have the form `key=value`');
  else if (isRemovedKey(entry.key, names) || properties.keys.has(presentKey(entry.key, names)))
    flags.properties.push(entry);
  else flags.problems.push(unknownKey(entry, properties.keys.keys(), suggest));
}

/** Joins the values of list flags that are repeated. */
function joinRepeated(written: readonly WrittenKey[]): WrittenKey[] {
  const lists = new Map<string, string[]>();
  for (const { key, raw } of written) {
    if (SETTING_KEYS.get(key)?.type === 'array') lists.set(key, [...(lists.get(key) ?? []), String(raw)]);
  }
  return written.map((entry) => {
    const values = lists.get(entry.key);
    return values ? { ...entry, raw: values.join(',') } : entry;
  });
}

function readEnvironment(env: SettingsSources['env'], suggest: Suggest, formerNames: FormerNames): PresentNames {
  const { names, present } = variableNames(formerNames);
  const written: WrittenKey[] = [];
  const problems: string[] = [];
  // The name with the prefix overrides the plain one, because it is specific to this program.
  for (const [name, key] of names) {
    const raw = env[name];
    if (raw !== undefined && raw !== '' && !isServiceLink(name, raw))
      written.push({ key, raw, source: `environment variable ${name}` });
  }
  for (const [name, raw = ''] of Object.entries(env)) {
    if (!name.startsWith(ENV_PREFIX) || names.has(name) || name === `${ENV_PREFIX}CONFIG`) continue;
    if (isServiceLink(name, raw)) continue;
    const meant = suggest(name, present);
    problems.push(
      `environment variable ${name}: unknown setting${meant === undefined ? '; docs/configuration.md lists all keys' : `; did you mean \`${meant}\`?`}`,
    );
  }
  const renamed = withPresentNames(written, formerNames);
  return { ...renamed, problems: [...problems, ...renamed.problems] };
}

/** @returns keys, also former ones, by variable; and the variables of present keys */
function variableNames(formerNames: FormerNames): { names: ReadonlyMap<string, string>; present: readonly string[] } {
  const names = new Map<string, string>();
  for (const [key, schema] of SETTING_KEYS) {
    if (schema.env !== undefined) names.set(schema.env, key);
    names.set(variableOf(key), key);
  }
  const present = [...names.keys()];
  for (const former of formerNames.keys()) {
    const isSetting = isRemovedKey(former, formerNames) || SETTING_KEYS.has(presentKey(former, formerNames));
    if (isSetting) names.set(variableOf(former), former);
  }
  return { names, present };
}

/** `log-level` → `OLAP_WARDEN_LOG_LEVEL`. */
export function variableOf(key: string): string {
  return ENV_PREFIX + key.toUpperCase().replaceAll('-', '_');
}

/**
 * Whether Kubernetes set the variable for a Service of the namespace. For a Service `olap-warden` it sets, for example,
 * `OLAP_WARDEN_PORT=tcp://10.0.0.1:80` and `OLAP_WARDEN_SERVICE_HOST`.
 */
function isServiceLink(name: string, value: string): boolean {
  return /^(tcp|udp|sctp):\/\//.test(value) || /_SERVICE_(HOST|PORT)(_|$)|_PORT_\d+_(TCP|UDP|SCTP)(_|$)/.test(name);
}

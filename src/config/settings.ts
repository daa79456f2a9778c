import { readConfigFile } from './file.ts';
import { resolve, SettingsError, unknownKey, type Suggest, type Written } from './keys.ts';
import { isPropertyKey, PROPERTY_KEYS, resolveProperties, type Properties } from './properties.ts';
import { SETTING_KEYS, settingsProblems, type Settings } from './schema.ts';
import { parseValue } from './value.ts';

export interface SettingsSources {
  /** What follows the command's name. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly suggest: Suggest;
}

export interface LoadedSettings {
  readonly settings: Settings;
  readonly properties: Properties;
  /** The file that was read, for what changes while the process runs. */
  readonly file: string | undefined;
  /** Properties given by flags: they win over the file at every reading. */
  readonly fixedProperties: readonly Written[];
}

const ENV_PREFIX = 'OLAP_WARDEN_';

/**
 * Settings from flags, over environment variables, over one file, over defaults.
 * @throws {SettingsError} with everything that is wrong: the source, the key, what would be right
 */
export async function loadSettings(sources: SettingsSources): Promise<LoadedSettings> {
  const flags = readFlags(sources.args, sources.suggest);
  const environment = readEnvironment(sources.env, sources.suggest);
  const file = flags.file ?? sources.env[`${ENV_PREFIX}CONFIG`];
  const fromFile = file === undefined ? [] : await readConfigFile(file);

  const settings = resolve(SETTING_KEYS, [...fromFile, ...environment.written, ...flags.written]);
  const properties = resolveProperties([...fromFile, ...flags.properties]);
  const problems = [
    ...flags.problems,
    ...environment.problems,
    ...unknownInFile(fromFile, sources.suggest),
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
  };
}

/** Messages about keys that nobody reads: what would not be in force must not look as if it were. */
export function unknownInFile(written: readonly Written[], suggest: Suggest): string[] {
  const known = [...SETTING_KEYS.keys(), ...PROPERTY_KEYS.keys()];
  const all = new Set(known);
  return written.filter(({ key }) => !all.has(key)).map((entry) => unknownKey(entry, known, suggest));
}

interface Read {
  readonly written: Written[];
  readonly problems: string[];
}

interface Flags extends Read {
  readonly properties: Written[];
  file: string | undefined;
}

function readFlags(args: readonly string[], suggest: Suggest): Flags {
  const flags: Flags = { written: [], properties: [], problems: [], file: undefined };
  for (let index = 0; index < args.length; index += 1) {
    const [, name, inline] = /^--([^=]+)(?:=(.*))?$/s.exec(args[index] ?? '') ?? [];
    if (name === undefined) {
      flags.problems.push(`\`${args[index]}\` is not a flag: flags begin with \`--\``);
      continue;
    }
    const schema = SETTING_KEYS.get(name);
    // A switch alone means true; `--switch false` is understood too.
    const next = args[index + 1];
    const alone = schema?.type === 'boolean' && (next === undefined || 'problem' in parseValue(schema, next));
    const raw = inline ?? (alone ? 'true' : next);
    if (inline === undefined && !alone) index += 1;
    addFlag(flags, name, raw, suggest);
  }
  return joinRepeated(flags);
}

function addFlag(flags: Flags, name: string, raw: string | undefined, suggest: Suggest): void {
  const source = `flag --${name}`;
  if (name !== 'config' && name !== 'set' && !SETTING_KEYS.has(name)) {
    flags.problems.push(unknownFlag(name, suggest));
  } else if (raw === undefined) {
    flags.problems.push(`${source}: its value is missing`);
  } else if (name === 'config') {
    flags.file = raw;
  } else if (name === 'set') {
    addProperty(flags, raw, suggest);
  } else {
    flags.written.push({ key: name, raw, source });
  }
}

function unknownFlag(name: string, suggest: Suggest): string {
  const meant = suggest(name, ['config', 'set', 'help', 'version', ...SETTING_KEYS.keys()]);
  return `\`--${name}\` is not a known flag; ${meant === undefined ? '`--help` lists them' : `did you mean \`--${meant}\`?`}`;
}

function addProperty(flags: Flags, text: string, suggest: Suggest): void {
  const at = text.indexOf('=');
  const entry = { key: text.slice(0, at).trim(), raw: text.slice(at + 1), source: 'flag --set' };
  if (at < 1) flags.problems.push('flag --set: is not of the form `key=value`');
  else if (isPropertyKey(entry.key) && PROPERTY_KEYS.has(entry.key)) flags.properties.push(entry);
  else flags.problems.push(unknownKey(entry, PROPERTY_KEYS.keys(), suggest));
}

/** A flag for a list may stand several times. */
function joinRepeated(flags: Flags): Flags {
  const lists = new Map<string, string[]>();
  for (const { key, raw } of flags.written) {
    if (SETTING_KEYS.get(key)?.type === 'array') lists.set(key, [...(lists.get(key) ?? []), String(raw)]);
  }
  const written = flags.written.map((entry) => {
    const values = lists.get(entry.key);
    return values ? { ...entry, raw: values.join(',') } : entry;
  });
  return { ...flags, written };
}

function readEnvironment(env: SettingsSources['env'], suggest: Suggest): Read {
  const names = new Map<string, string>();
  for (const [key, schema] of SETTING_KEYS) {
    if (schema.env !== undefined) names.set(schema.env, key);
    names.set(variableOf(key), key);
  }
  const written: Written[] = [];
  const problems: string[] = [];
  // The name with the prefix wins over the plain one: it is meant for this program alone.
  for (const [name, key] of names) {
    const raw = env[name];
    if (raw !== undefined && raw !== '' && !isServiceLink(name, raw))
      written.push({ key, raw, source: `environment variable ${name}` });
  }
  for (const [name, raw = ''] of Object.entries(env)) {
    if (!name.startsWith(ENV_PREFIX) || names.has(name) || name === `${ENV_PREFIX}CONFIG`) continue;
    if (isServiceLink(name, raw)) continue;
    const meant = suggest(name, names.keys());
    problems.push(
      `environment variable ${name}: is not a known setting${meant === undefined ? '; docs/configuration.md lists all keys' : `; did you mean \`${meant}\`?`}`,
    );
  }
  return { written, problems };
}

/** `log-level` → `OLAP_WARDEN_LOG_LEVEL`. */
export function variableOf(key: string): string {
  return ENV_PREFIX + key.toUpperCase().replaceAll('-', '_');
}

/**
 * Kubernetes sets variables for every Service of the namespace: one that is called `olap-warden` makes
 * `OLAP_WARDEN_PORT=tcp://10.0.0.1:80` and `OLAP_WARDEN_SERVICE_HOST`. None of them is meant for this program.
 */
function isServiceLink(name: string, value: string): boolean {
  return /^(tcp|udp|sctp):\/\//.test(value) || /_SERVICE_(HOST|PORT)(_|$)|_PORT_\d+_(TCP|UDP|SCTP)(_|$)/.test(name);
}

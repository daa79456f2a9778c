import { readFile } from 'node:fs/promises';
import { parseDocument } from 'yaml';
import { SettingsError, type Written } from './keys.ts';

/** No configuration is this large: what is, is the wrong file. */
const MAX_BYTES = 1_048_576;

/**
 * The keys of a file: YAML (nested mappings are the same as dotted keys), or, by its name `*.properties` or `*.conf`, lines `key=value`.
 * @throws {SettingsError} where it cannot be read or is not of its form
 */
export async function readConfigFile(path: string): Promise<Written[]> {
  let content: string;
  try {
    content = await readFile(path, 'utf8');
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'does not exist' : (error as Error).message;
    throw new SettingsError([`the configuration file \`${path}\` ${why}`]);
  }
  if (Buffer.byteLength(content) > MAX_BYTES)
    throw new SettingsError([`the configuration file \`${path}\` is larger than 1 MB`]);
  return parseConfig(content, path);
}

/** @param source the file's path, for messages and for its form */
export function parseConfig(content: string, source: string): Written[] {
  return /\.(properties|conf)$/.test(source) ? parseLines(content, source) : parseYaml(content, source);
}

function parseYaml(content: string, source: string): Written[] {
  const document = parseDocument(content, { prettyErrors: true });
  const [problem] = document.errors;
  if (problem) throw new SettingsError([`${source}: is not valid YAML: ${problem.message}`]);
  // Aliases may be used, but not to blow a small file up into a huge one.
  const value: unknown = document.toJS({ maxAliasCount: 100 });
  if (value === null || value === undefined) return [];
  if (typeof value !== 'object' || Array.isArray(value))
    throw new SettingsError([`${source}: must hold keys and values, such as \`port: 8080\``]);
  return flatten(value, '', source);
}

function flatten(value: object, prefix: string, source: string): Written[] {
  return Object.entries(value).flatMap(([name, entry]: [string, unknown]) => {
    const key = prefix === '' ? name : `${prefix}.${name}`;
    if (typeof entry === 'object' && entry !== null && !Array.isArray(entry)) return flatten(entry, key, source);
    // A key without a value is as good as absent.
    return entry === null ? [] : [{ key, raw: entry, source }];
  });
}

function parseLines(content: string, source: string): Written[] {
  return content.split(/\r?\n/).flatMap((line, index) => {
    const trimmed = line.trim();
    if (trimmed === '' || /^[#!]/.test(trimmed)) return [];
    const [, key = '', raw = ''] = /^([^=:\s]+)\s*[=:]\s*(.*)$/.exec(trimmed) ?? [];
    if (key === '') throw new SettingsError([`${source}, line ${index + 1}: is not of the form \`key=value\``]);
    return [{ key, raw, source: `${source}, line ${index + 1}` }];
  });
}

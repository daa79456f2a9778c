import { readFile } from 'node:fs/promises';
import { type Document, parseDocument } from 'yaml';
import { errorCode, errorMessage } from '../platform/plain-error.ts';
import { SettingsError, type WrittenKey } from './keys.ts';

/** A larger file is not a configuration file. */
const MAX_BYTES = 1_048_576;

/**
 * Reads a configuration file: lines `key=value` in `*.properties` and `*.conf`, otherwise YAML, where nested mappings and dotted keys are equivalent.
 * @throws {SettingsError} when the file cannot be read or parsed
 */
export async function readConfigFile(path: string): Promise<WrittenKey[]> {
  let content: string;
  try {
    content = await readFile(path, 'utf8');
  } catch (error) {
    const why = errorCode(error) === 'ENOENT' ? 'it does not exist' : errorMessage(error);
    throw new SettingsError([`cannot read the configuration file \`${path}\`: ${why}`]);
  }
  if (Buffer.byteLength(content) > MAX_BYTES)
    throw new SettingsError([`the configuration file \`${path}\` is larger than 1 MB`]);
  return parseConfig(content, path);
}

/**
 * @param source path of the file, for messages and to select the format
 * @throws {SettingsError} also for a key that is given twice: the last one would silently be used
 */
export function parseConfig(content: string, source: string): WrittenKey[] {
  const written = /\.(properties|conf)$/.test(source) ? parseLines(content, source) : parseYaml(content, source);
  const seen = new Map<string, WrittenKey>();
  const problems = written.flatMap((entry) => {
    const first = seen.get(entry.key);
    seen.set(entry.key, first ?? entry);
    return first === undefined ? [] : [`${entry.source}: \`${entry.key}\` is given twice: ${elsewhere(first, entry)}`];
  });
  if (problems.length > 0) throw new SettingsError(problems);
  return written;
}

function elsewhere(first: WrittenKey, second: WrittenKey): string {
  return first.source === second.source ? 'once nested, once with dots' : `the first one is in ${first.source}`;
}

function parseYaml(content: string, source: string): WrittenKey[] {
  // A warning would print a part of the file.
  const document = parseDocument(content, { prettyErrors: true, logLevel: 'error' });
  const [problem] = document.errors;
  // The message repeats parts of the file, which can contain credentials.
  if (problem)
    throw new SettingsError([`${source}: invalid YAML in line ${problem.linePos?.[0].line ?? 1} (${problem.code})`]);
  const value = valueOf(document, source);
  if (value === null || value === undefined) return [];
  if (typeof value !== 'object' || Array.isArray(value))
    throw new SettingsError([`${source}: the file must contain keys and values, such as \`port: 8080\``]);
  return flatten(value, '', source);
}

/** A limit on aliases keeps a small file from expanding into a huge value. @throws {SettingsError} */
function valueOf(document: Document, source: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch {
    throw new SettingsError([`${source}: invalid YAML: an alias without an anchor, or too many aliases`]);
  }
}

function flatten(value: object, prefix: string, source: string): WrittenKey[] {
  return Object.entries(value).flatMap(([name, entry]: [string, unknown]) => {
    const key = prefix === '' ? name : `${prefix}.${name}`;
    if (typeof entry === 'object' && entry !== null && !Array.isArray(entry)) return flatten(entry, key, source);
    // A key without a value counts as absent.
    return entry === null ? [] : [{ key, raw: entry, source }];
  });
}

function parseLines(content: string, source: string): WrittenKey[] {
  return content.split(/\r?\n/).flatMap((line, index) => {
    const trimmed = line.trim();
    if (trimmed === '' || /^[#!]/.test(trimmed)) return [];
    const [, key = '', raw = ''] = /^([^=:\s]+)\s*[=:]\s*(.*)$/.exec(trimmed) ?? [];
    if (key === '')
      throw new SettingsError([`${source}, line ${index + 1}: the line must have the form \`key=value\``]);
    return [{ key, raw, source: `${source}, line ${index + 1}` }];
  });
}

import { SQL_LIMITS, type SqlLimits } from './limits.ts';
import { isInterpreted, requireKnownOption } from './query-options.ts';
import { SqlRefusal } from './refusal.ts';
import type { Option } from './tree.ts';

const OPTION_KEY = /^[\w.$-]+$/;
// oxlint-disable-next-line no-control-regex
const OPTION_VALUE = /^[^\0-\x1f\x7f-\xa0;\u1680\u2000-\u200f\u2028-\u202f\u205f\u3000\ufeff]*$/;

/**
 * Parses a request field with options. The names are not checked.
 * @param field its name, for messages
 * @throws {SqlRefusal} if it is not `key=value;…`, or if versions parse it differently
 */
export function parseOptions(field: string, text: string | undefined, { optionsLength }: SqlLimits): Option[] {
  if (text !== undefined && text.length > optionsLength)
    throw new SqlRefusal(`\`${field}\` is longer than ${optionsLength} characters`);
  // The engine compares names without case, and in no defined order.
  const options = new Map<string, Option>();
  for (const part of text?.split(';') ?? []) {
    const option = part.trim();
    if (option === '') continue;
    const at = option.indexOf('=');
    const [key, value] = [option.slice(0, at).trim(), option.slice(at + 1).trim()];
    if (at === -1 || !OPTION_KEY.test(key) || !OPTION_VALUE.test(value) || !value.isWellFormed()) {
      throw new SqlRefusal(
        `\`${field}\` must be of the form \`key=value;key=value\`, which \`${option.slice(0, 100)}\` is not`,
      );
    }
    if (options.has(key.toLowerCase())) throw new SqlRefusal(`\`${field}\` has the key \`${key}\` twice`);
    options.set(key.toLowerCase(), { key, value, at: 0 });
  }
  return [...options.values()];
}

/** @returns undefined if there are none */
export function printOptions(options: readonly Option[]): string | undefined {
  return options.length === 0 ? undefined : options.map(({ key, value }) => `${key}=${value}`).join(';');
}

/**
 * The canonical form of `debugOptions`, which old versions read beside the query options and by the same names.
 * @throws {SqlRefusal} as `parseOptions`, for an unknown or refused option, and for one that the checks depend on
 */
export function judgeDebugOptions(text: string | undefined, limits: SqlLimits = SQL_LIMITS): string | undefined {
  const options = parseOptions('debugOptions', text, limits);
  for (const option of options) {
    requireKnownOption(option);
    if (isInterpreted(option)) {
      throw new SqlRefusal(`\`debugOptions\` has the query option \`${option.key}\`: write it in \`queryOptions\``);
    }
  }
  return printOptions(options);
}

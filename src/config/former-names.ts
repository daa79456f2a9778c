import type { Written } from './keys.ts';

/** What replaced a setting or property. */
export interface FormerName {
  /** The present key. */
  readonly key: string;
  /** The first version that does not accept the former name. */
  readonly removedIn: string;
}

/** By former key. */
export type FormerNames = ReadonlyMap<string, FormerName>;

/**
 * Former keys of settings and properties that are still accepted, such as
 * `['log-verbosity', { key: 'log-level', removedIn: '0.4.0' }]`. An entry stays for one minor version after that of the new name; a test fails
 * in the version `removedIn`.
 */
export const FORMER_NAMES: FormerNames = new Map<string, FormerName>();

/** Settings under their present keys. */
export interface PresentNames {
  readonly written: Written[];
  /** One sentence for each former name. */
  readonly warnings: string[];
  readonly problems: string[];
}

/**
 * Replaces former keys. Both names of one key in the same source are a problem, because their order says nothing about what was meant.
 * @param written the entries of one source
 */
export function withPresentNames(written: readonly Written[], names: FormerNames): PresentNames {
  const given = new Set(written.map(({ key }) => key));
  const warnings = new Set<string>();
  const problems = new Set<string>();
  const renamed = written.map((entry) => {
    const former = names.get(entry.key);
    if (former === undefined) return entry;
    const { key, removedIn } = former;
    if (given.has(key))
      problems.add(`${entry.source}: \`${entry.key}\` is the former name of \`${key}\`: set only \`${key}\``);
    else
      warnings.add(
        `${entry.source}: \`${entry.key}\` is now \`${key}\`; version ${removedIn} does not accept the former name`,
      );
    return { ...entry, key };
  });
  return { written: renamed, warnings: [...warnings], problems: [...problems] };
}

/** The present key of a name. */
export function presentKey(name: string, names: FormerNames): string {
  return names.get(name)?.key ?? name;
}

import type { WrittenKey } from './keys.ts';

/** A setting or property that has another name now. */
export interface RenamedKey {
  /** The present key. */
  readonly key: string;
  /** The first version that does not accept the former name. */
  readonly removedIn: string;
}

/** A setting or property that no longer exists. Its value is ignored. */
export interface RemovedKey {
  /** What happens instead, as the end of a warning. */
  readonly instead: string;
  /** The first version that rejects the key. */
  readonly removedIn: string;
}

/** By former key. */
export type FormerNames = ReadonlyMap<string, RenamedKey | RemovedKey>;

/**
 * Former keys of settings and properties that are still accepted, such as
 * `['log-verbosity', { key: 'log-level', removedIn: '0.4.0' }]`. An entry stays for one minor version after that of the change; a test fails
 * in the version `removedIn`.
 */
export const FORMER_NAMES: FormerNames = new Map<string, RenamedKey | RemovedKey>([
  [
    'olap.broker.pagination.native',
    {
      instead: 'the rows of results are in the store of `olap.broker.pagination.protocol`, not in cursors of Pinot',
      removedIn: '0.4.0',
    },
  ],
  [
    'health-open-reports',
    {
      instead: 'no Reports of openreports.io are written; see `health-webhook-url` and the metrics',
      removedIn: '0.4.0',
    },
  ],
]);

/** Settings under their present keys. */
export interface PresentNames {
  readonly written: WrittenKey[];
  /** One sentence for each former key. */
  readonly warnings: string[];
  readonly problems: string[];
}

/**
 * Replaces former keys, and leaves out those that no longer exist. Both names of one key in the same source are a problem, because their order says nothing about what was meant.
 * @param written the entries of one source
 */
export function withPresentNames(written: readonly WrittenKey[], names: FormerNames): PresentNames {
  const given = new Set(written.map(({ key }) => key));
  const warnings = new Set<string>();
  const problems = new Set<string>();
  const renamed = written.flatMap((entry) => {
    const former = names.get(entry.key);
    if (former === undefined) return entry;
    if ('instead' in former) {
      const { instead, removedIn } = former;
      warnings.add(
        `${entry.source}: \`${entry.key}\` no longer exists and is ignored: ${instead}; version ${removedIn} rejects the key`,
      );
      return [];
    }
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

/** The present key of a name; the name itself where it is no former one, or nothing replaces it. */
export function presentKey(name: string, names: FormerNames): string {
  const former = names.get(name);
  return former !== undefined && 'key' in former ? former.key : name;
}

/** Whether the name is that of a setting or property that no longer exists, and is still accepted. */
export function isRemovedKey(name: string, names: FormerNames): boolean {
  const former = names.get(name);
  return former !== undefined && 'instead' in former;
}

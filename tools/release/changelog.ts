/** The heading of changes that are not released yet. */
const UNRELEASED = '## [Unreleased]';

/**
 * The text below the heading of the version, if the changelog has it already, and else below that of unreleased changes.
 * @throws {Error} if there is none, or if there are unreleased changes above the heading of the version
 */
export function releaseNotes(changelog: string, version: string): string {
  const unreleased = notesBelow(changelog, UNRELEASED);
  if (!hasRelease(changelog, version)) {
    if (unreleased === '') throw new Error(`CHANGELOG.md has no changes below \`${UNRELEASED}\``);
    return unreleased;
  }
  if (unreleased !== '')
    throw new Error(`CHANGELOG.md has changes below \`${UNRELEASED}\`: move them below \`## [${version}]\``);
  const notes = notesBelow(changelog, `## [${version}]`);
  if (notes === '') throw new Error(`CHANGELOG.md has no changes below \`## [${version}]\``);
  return notes;
}

/** What follows the first line that begins with the heading, up to the next heading of a version. */
function notesBelow(changelog: string, heading: string): string {
  const lines = changelog.split('\n');
  const start = lines.findIndex((line) => line.startsWith(heading));
  if (start === -1) return '';
  const end = lines.findIndex((line, index) => index > start && line.startsWith('## '));
  return lines
    .slice(start + 1, end === -1 ? undefined : end)
    .join('\n')
    .trim();
}

/** The changelog with the unreleased changes below a heading of the version. @param date such as `2026-01-31` */
export function releasedChangelog(changelog: string, version: string, date: string): string {
  releaseNotes(changelog, version);
  if (hasRelease(changelog, version)) return changelog;
  return changelog.replace(`${UNRELEASED}\n`, `${UNRELEASED}\n\n## [${version}] - ${date}\n`);
}

const SEMVER = /^(\d+)\.(\d+)\.(\d+)(?:-([0-9a-z]+(?:\.[0-9a-z]+)*))?$/;

/** Whether the changelog has a heading of the version. */
export function hasRelease(changelog: string, version: string): boolean {
  return changelog.split('\n').some((line) => line.startsWith(`## [${version}]`));
}

/** Why the version cannot follow `current`, or undefined. The same version may: it is made if it has no tag. */
export function versionProblem(version: string, current: string): string | undefined {
  const next = SEMVER.exec(version);
  if (next === null) return `invalid VERSION \`${version}\`: it must be a semantic version such as 1.2.3 or 1.2.3-rc.1`;
  const last = SEMVER.exec(current);
  if (last === null || order(next, last) >= 0) return undefined;
  return `VERSION ${version} is older than ${current}, the version in package.json`;
}

/** Positive if `a` has precedence over `b`, by section 11 of Semantic Versioning. */
function order(a: RegExpExecArray, b: RegExpExecArray): number {
  for (const part of [1, 2, 3]) {
    const difference = Number(a[part]) - Number(b[part]);
    if (difference !== 0) return difference;
  }
  const [before, after] = [a[4], b[4]];
  // A version has precedence over its release candidates.
  if (before === undefined || after === undefined) return Number(before === undefined) - Number(after === undefined);
  return orderOfIdentifiers(before.split('.'), after.split('.'));
}

function orderOfIdentifiers(a: readonly string[], b: readonly string[]): number {
  for (const [index, one] of a.entries()) {
    const other = b[index];
    if (other === undefined) return 1;
    if (one === other) continue;
    const [left, right] = [NUMERIC.test(one), NUMERIC.test(other)];
    if (left && right) return Number(one) - Number(other);
    // Numbers come before words.
    if (left !== right) return left ? -1 : 1;
    return one < other ? -1 : 1;
  }
  return a.length - b.length;
}

const NUMERIC = /^\d+$/;

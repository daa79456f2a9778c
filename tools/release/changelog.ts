/** The heading of changes that are not released yet. */
const UNRELEASED = '## [Unreleased]';

/** The text below the heading of unreleased changes. @throws {Error} if there is none */
export function unreleasedNotes(changelog: string): string {
  const [, rest] = changelog.split(`${UNRELEASED}\n`);
  const notes = rest?.split(/^## /m)[0]?.trim() ?? '';
  if (notes === '') throw new Error(`CHANGELOG.md has no changes below \`${UNRELEASED}\``);
  return notes;
}

/** The changelog with the unreleased changes below a heading of the version. @param date such as `2026-01-31` */
export function releasedChangelog(changelog: string, version: string, date: string): string {
  unreleasedNotes(changelog);
  return changelog.replace(`${UNRELEASED}\n`, `${UNRELEASED}\n\n## [${version}] - ${date}\n`);
}

const SEMVER = /^(\d+)\.(\d+)\.(\d+)(?:-([0-9a-z]+(?:\.[0-9a-z]+)*))?$/;

/** Why the version cannot follow `current`, or undefined. */
export function versionProblem(version: string, current: string): string | undefined {
  const next = SEMVER.exec(version);
  if (next === null) return `invalid VERSION \`${version}\`: it must be a semantic version such as 1.2.3 or 1.2.3-rc.1`;
  const last = SEMVER.exec(current);
  if (last === null) return undefined;
  for (const part of [1, 2, 3]) {
    const difference = Number(next[part]) - Number(last[part]);
    if (difference > 0) return undefined;
    if (difference < 0) return `VERSION ${version} is older than ${current}, the version in package.json`;
  }
  return undefined;
}

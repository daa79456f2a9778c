import { describe, expect, it } from 'vitest';
import { hasRelease, releasedChangelog, releaseNotes, versionProblem } from '../../../tools/release/changelog.ts';

const CHANGELOG = '# Changelog\n\n## [Unreleased]\n\n### Added\n\n- This.\n\n## [0.1.0]\n\n- That.\n';

describe('a release', () => {
  it('has the unreleased changes as its notes', () => {
    expect(releaseNotes(CHANGELOG, '0.2.0')).toBe('### Added\n\n- This.');
  });

  it('has the changes below its heading as its notes, if the changelog has it already', () => {
    const cut = '# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-01-31\n\n- This.\n\n## [0.1.0]\n\n- That.\n';
    expect(releaseNotes(cut, '0.2.0')).toBe('- This.');
    expect(releasedChangelog(cut, '0.2.0', '2026-02-28')).toBe(cut);
    const later = cut.replace('## [Unreleased]\n', '## [Unreleased]\n\n- Later.\n');
    expect(() => releaseNotes(later, '0.2.0')).toThrow('move them below `## [0.2.0]`');
    expect(releaseNotes(later, '0.3.0')).toBe('- Later.');
  });

  it('is rejected without changes', () => {
    const empty = '# Changelog\n\n## [Unreleased]\n\n## [0.1.0]\n\n- That.\n';
    expect(() => releaseNotes(empty, '0.2.0')).toThrow('CHANGELOG.md has no changes below `## [Unreleased]`');
    expect(() => releasedChangelog(empty, '0.2.0', '2026-01-31')).toThrow('no changes');
  });

  it('finds the heading of a version', () => {
    expect(hasRelease(CHANGELOG, '0.1.0')).toBe(true);
    expect(hasRelease('## [0.1.0-rc.1] - 2026-01-31\n', '0.1.0')).toBe(false);
    expect(hasRelease(CHANGELOG, '0.1')).toBe(false);
  });

  it('moves the changes below its own heading', () => {
    expect(releasedChangelog(CHANGELOG, '0.2.0', '2026-01-31')).toBe(
      '# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-01-31\n\n### Added\n\n- This.\n\n## [0.1.0]\n\n- That.\n',
    );
  });

  it.each([
    ['0.2.0', '0.2.0', undefined],
    ['0.10.0', '0.9.9', undefined],
    ['1.0.0-rc.1', '0.9.9', undefined],
    ['1.0.0-rc.10', '1.0.0-rc.2', undefined],
    ['1.0.0-rc.1.1', '1.0.0-rc.1', undefined],
    ['1.0.0-rc', '1.0.0-beta', undefined],
    ['1.0.0-rc', '1.0.0-1', undefined],
    ['1.0.0', '1.0.0-rc.2', undefined],
    ['1.0.0-rc.2', '1.0.0', 'VERSION 1.0.0-rc.2 is older than 1.0.0, the version in package.json'],
    ['1.0.0-rc.2', '1.0.0-rc.10', 'VERSION 1.0.0-rc.2 is older than 1.0.0-rc.10, the version in package.json'],
    ['1.0.0-rc', '1.0.0-rc.1', 'VERSION 1.0.0-rc is older than 1.0.0-rc.1, the version in package.json'],
    ['0.1.9', '0.2.0', 'VERSION 0.1.9 is older than 0.2.0, the version in package.json'],
    ['v0.3.0', '0.2.0', 'invalid VERSION `v0.3.0`: it must be a semantic version such as 1.2.3 or 1.2.3-rc.1'],
    ['', '0.2.0', 'invalid VERSION ``: it must be a semantic version such as 1.2.3 or 1.2.3-rc.1'],
  ])('VERSION=%s after %s', (version, current, problem) => {
    expect(versionProblem(version, current)).toBe(problem);
  });
});

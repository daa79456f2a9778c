import { expect, it } from 'vitest';
import { inRange, installedVersion } from '../../support/pinot-version.ts';

it.each([
  ['1.0.0', '>=1.0', true],
  ['0.11.0', '>=1.0', false],
  ['0.11.0', '<1.0', true],
  ['1.5.1', '<1.3', false],
  ['1.10.0', '>=1.9', true],
  ['1.2.9', '<1.3', true],
])('%s is in %s: %s', (version, range, expected) => {
  expect(inRange(version, range)).toBe(expected);
});

it('refuses a range of another form', () => {
  expect(() => inRange('1.0.0', '~1.0')).toThrow('is not a range of versions');
});

it('reads the version from the installer', () => {
  expect(inRange(installedVersion(), '>=0.11')).toBe(true);
});

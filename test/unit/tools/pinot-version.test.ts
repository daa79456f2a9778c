import { expect, it } from 'vitest';
import { inRange, versionOf } from '../../support/pinot-version.ts';

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

it('reads the versions from the installer', () => {
  expect([versionOf('default'), versionOf('newer')].map((version) => inRange(version, '>=1.0'))).toEqual([false, true]);
});

import { expect, it } from 'vitest';
import { parsePolicyDocument } from '../../../../src/access/policy/policy-document.ts';

it.each([
  [2, '`2`'],
  ['v2', '`v2`'],
  [{ major: 1 }, '`{"major":1}`'],
  ['x'.repeat(1000), `\`${'x'.repeat(80)}\``],
])('the version %j is rejected, and repeated up to 80 characters', (version, text) => {
  const message = `${text} is not known: it must be \`v1\``;
  expect(parsePolicyDocument({ version, statements: [] })).toEqual({
    ok: false,
    errors: [{ path: 'version', message }],
  });
});

import { expect, it } from 'vitest';
import { parsePolicyDocument } from '../../../../src/access/policy/policy-document.ts';
import { withoutLineBreaks } from '../../../../src/access/policy/wrapped-strings.ts';

it('a document whose strings are wrapped is read as it was meant', () => {
  const document = `{"version": "v1", "statements": [{
    "description": "Reads \\"events\\"
       of all days", "effect": "allow", "actions": ["Query"],
    "resources": ["srn2:cluster#pinot:\r
                   table#events", "srn2:table#\\u0061"]}]}`;
  expect(parsePolicyDocument(document)).toEqual({
    ok: true,
    spec: {
      statements: [
        {
          description: 'Reads "events" of all days',
          effect: 'allow',
          actions: ['Query'],
          resources: ['srn2:cluster#pinot:table#events', 'srn2:table#a'],
        },
      ],
    },
  });
});

it.each(['{"actions": ["Get\n Table"]}', '{"a": "b\\', '{"a": "b\n', '{"a": "b\\\n"}'])('%j stays an error', (text) => {
  expect(parsePolicyDocument(text).ok).toBe(false);
});

it('a text without such line breaks stays as it is', () => {
  const text = '{\n  "a": "b\\n c",\n  "d": "  "\n}\n';
  expect(withoutLineBreaks(text)).toBe(text);
});

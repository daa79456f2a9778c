import { describe, expect, it } from 'vitest';
import { indentJson } from '../../../web/src/lib/indent-json.ts';

describe('indented JSON', () => {
  it.each([
    [{}],
    [[]],
    [{ a: [], b: {}, c: [{}, []] }],
    [{ a: [1, 'x,{"', null, true], 'b:': { c: '\\"}' } }],
    [['{', '[', ',', ':']],
    [[[[1]], { a: { b: [{ c: 1 }] } }]],
  ])('is that of JSON.stringify: %j', (value) => {
    expect(indentJson(JSON.stringify(value))).toBe(JSON.stringify(value, undefined, 2));
  });

  it('keeps every digit and every escape', () => {
    expect(indentJson(' {"id" : 9007199254740993.10, "t":"\\u00e9"} ')).toBe(
      '{\n  "id": 9007199254740993.10,\n  "t": "\\u00e9"\n}',
    );
  });

  it.each(['text', '1', '"[1]"', '{a:1}', '[1', '{"a":1}x', `[${'1,'.repeat(600_000)}1]`])(
    'is absent for what is not a JSON object or array, or too long',
    (text) => {
      expect(indentJson(text)).toBeUndefined();
    },
  );
});

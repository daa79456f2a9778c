import { describe, expect, it } from 'vitest';
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

describe('a document', () => {
  const refused = (path: string, message: string) => ({ ok: false, errors: [{ path, message }] });
  const statements = [{ effect: 'allow', actions: ['Query'], resources: ['*'] }];

  it.each([null, [], [{ statements }], 'null', '[]', '1', 5, undefined])('is an object, not %j', (document) => {
    expect(parsePolicyDocument(document)).toEqual(refused('', 'must be an object with `version` and `statements`'));
  });

  it('has no other fields', () => {
    expect(parsePolicyDocument({ statements, name: 'x', other: 1 })).toEqual(
      refused('name', 'is not a known field; known fields are version, statements'),
    );
  });

  it.each([undefined, {}, 'x', null])('has a list of statements, not %j', (value) => {
    expect(parsePolicyDocument({ version: 'v1', statements: value })).toEqual(
      refused('statements', 'must be a list of statements'),
    );
  });

  it('may have a single action and resource without a list, also as text', () => {
    const document = { version: 'v1', statements: [{ effect: 'allow', actions: 'Query', resources: '*' }] };
    expect(parsePolicyDocument(document)).toEqual({ ok: true, spec: { statements } });
    expect(parsePolicyDocument(JSON.stringify(document))).toEqual({ ok: true, spec: { statements } });
  });

  it.each([[[null]], [['x']], [[[]]]])('has objects as statements: %j', (list) => {
    expect(parsePolicyDocument({ statements: list })).toMatchObject({
      ok: false,
      errors: [{ path: 'statements[0]', message: expect.stringContaining('object') }],
    });
  });

  it('has at most 512 KiB as text', () => {
    const text = (length: number) => JSON.stringify({ statements }).padEnd(length, ' ');
    expect(parsePolicyDocument(text(512 * 1024))).toEqual({ ok: true, spec: { statements } });
    expect(parsePolicyDocument(text(512 * 1024 + 1))).toMatchObject({ ok: false, errors: [{ path: '' }] });
  });

  it('names each action and resource that can match nothing, at most 20', () => {
    const wrong = { effect: 'allow', actions: ['Query', 'Quary', 'xyzzy*'], resources: ['*', 'srn2:tables#t'] };
    expect(parsePolicyDocument({ statements: [...statements, wrong] })).toEqual({
      ok: false,
      errors: [
        { path: 'statements[1].actions[1]', message: '`Quary` matches no action; did you mean `Query`?' },
        { path: 'statements[1].actions[2]', message: '`xyzzy*` matches no action; docs/actions.md lists all actions' },
        {
          path: 'statements[1].resources[1]',
          message: '`srn2:tables#t` has the unknown kind `tables`; did you mean `table`?',
        },
      ],
    });
    const many = parsePolicyDocument({ statements: Array.from({ length: 21 }, () => wrong) });
    expect(!many.ok && many.errors).toHaveLength(20);
  });
});

import { describe, expect, it } from 'vitest';
import {
  completeSrn,
  formatSrn,
  matchesEverything,
  parseSrn,
  parseSrnOf,
  parseSrnPattern,
  patternMatches,
} from '../../../../src/access/policy/srn.ts';

describe('a resource name', () => {
  it('is read as it is written', () => {
    const text = 'srn2:cluster#pinot:table#events';
    const parsed = parseSrn(text);
    expect(parsed).toEqual({
      ok: true,
      value: {
        levels: [
          { kind: 'cluster', id: 'pinot' },
          { kind: 'table', id: 'events' },
        ],
      },
    });
    expect(parsed.ok && formatSrn(parsed.value)).toBe(text);
  });

  it.each([
    ['table#events', 'must begin with `srn2:`'],
    ['srn2:role#a:', 'the level `` must be'],
  ])('is not %s', (text, message) => {
    expect(parseSrn(text)).toMatchObject({ ok: false, message: expect.stringContaining(message) });
  });

  it('has at most eight levels', () => {
    const levels = (count: number) => `srn2:${Array.from({ length: count }, () => 'table#a').join(':')}`;
    expect(parseSrn(levels(8)).ok).toBe(true);
    expect(parseSrn(levels(9))).toEqual({
      ok: false,
      message: `\`${levels(9)}\` has 9 levels: at most 8 are allowed`,
    });
  });

  it.each(['srn2:#a', 'srn2:table#', 'srn2:table#a#b', 'srn2:table#a\tb', 'srn2:table#a\u0000', 'srn2:table'])(
    'names the level that is not one: %j',
    (text) => {
      expect(parseSrn(text)).toEqual({
        ok: false,
        message: `\`${text}\` is not a resource name: the level \`${text.slice(5)}\` must be \`<kind>#<id>\` without spaces and control characters`,
      });
    },
  );

  it.each([
    [parseSrn, 'srn2:tables#a', 'tables', 'did you mean `table`?'],
    [parseSrnPattern, 'srn2:table#a:rolle#*', 'rolle', 'did you mean `role`?'],
    [
      parseSrn,
      'srn2:xyzzy#a',
      'xyzzy',
      'known kinds are environment, cluster, table, role, policy, service-token, user',
    ],
  ])('names the unknown kind, %#', (parse, text, kind, hint) => {
    expect(parse(text)).toEqual({ ok: false, message: `\`${text}\` has the unknown kind \`${kind}\`; ${hint}` });
  });

  it('rejects another kind than requested', () => {
    expect(parseSrnOf('role', 'srn2:role#a')).toEqual({ ok: true, value: 'a' });
    for (const text of ['srn2:policy#a', 'srn2:cluster#c:role#a', 'srn2:role#a:role#b']) {
      const parsed = parseSrnOf('role', text);
      expect(!parsed.ok && parsed.message).toContain('`srn2:role#<name>` was expected');
    }
  });
});

describe('patterns', () => {
  it.each([
    ['*', true],
    ['srn2:*#*', true],
    ['srn2:**#***', true],
    ['srn2:*#*:*#*', false],
    ['srn2:table#*', false],
    ['srn2:*#a*', false],
    ['srn2:t*#*', false],
  ])('%s matches everything: %s', (text, everything) => {
    const parsed = parseSrnPattern(text);
    expect(parsed.ok && matchesEverything(parsed.value)).toBe(everything);
  });
});

describe('a resource name without its outer levels', () => {
  const complete = (text: string): string => {
    const parsed = parseSrn(text);
    if (!parsed.ok) throw new Error(parsed.message);
    return formatSrn({ levels: completeSrn(parsed.value, { environment: 'e', cluster: 'c' }) });
  };
  it.each([
    ['srn2:table#t', 'srn2:environment#e:cluster#c:table#t'],
    ['srn2:cluster#x:table#t', 'srn2:environment#e:cluster#x:table#t'],
    ['srn2:environment#x:table#t', 'srn2:environment#x:cluster#c:table#t'],
    ['srn2:environment#x:cluster#y:table#t', 'srn2:environment#x:cluster#y:table#t'],
    ['srn2:environment#x:cluster#y', 'srn2:environment#x:cluster#y'],
    ['srn2:environment#x', 'srn2:environment#x'],
    ['srn2:user#u', 'srn2:environment#e:user#u'],
    ['srn2:cluster#x', 'srn2:environment#e:cluster#x'],
    ['srn2:role#r', 'srn2:environment#e:role#r'],
    ['srn2:environment#x:policy#p', 'srn2:environment#x:policy#p'],
    ['srn2:cluster#x:service-token#t', 'srn2:environment#e:service-token#t'],
  ])('makes %s %s', (text, expected) => expect(complete(text)).toBe(expected));

  it('returns the cluster for no levels', () => {
    expect(formatSrn({ levels: completeSrn({ levels: [] }, { environment: 'e', cluster: 'c' }) })).toBe(
      'srn2:environment#e:cluster#c',
    );
  });
});

describe('the length of names', () => {
  it('is bounded, as a whole and for each id', () => {
    expect(parseSrn(`srn2:table#${'t'.repeat(512)}`).ok).toBe(true);
    expect(parseSrn(`srn2:table#${'t'.repeat(513)}`)).toEqual({
      ok: false,
      message: 'the table has 513 characters in its name: at most 512 are allowed',
    });
    expect(parseSrnPattern(`srn2:table#*${'t'.repeat(1012)}`).ok).toBe(true);
    expect(parseSrnPattern(`srn2:table#*${'t'.repeat(1013)}`)).toEqual({
      ok: false,
      message: 'the resource name has 1025 characters: at most 1024 are allowed',
    });
    for (const parse of [parseSrn, parseSrnPattern]) {
      expect(parse(`srn2:table#${'t'.repeat(1_000_000)}`)).toEqual({
        ok: false,
        message: 'the resource name has 1000011 characters: at most 1024 are allowed',
      });
    }
  });
});

describe('a pattern of resources', () => {
  function matches(pattern: string, resource: string): boolean {
    const [parsed, levels] = [parseSrnPattern(pattern), parseSrn(resource)];
    if (!parsed.ok || !levels.ok) throw new Error(`cannot parse ${pattern} or ${resource}`);
    return patternMatches(parsed.value, levels.value.levels);
  }

  it.each([
    ['srn2:table#orders', true],
    ['srn2:cluster#pinot:table#orders', true],
    ['srn2:cluster#*:table#ord*', true],
    ['srn2:environment#eu:table#orders', true],
    ['srn2:environment#eu:cluster#pinot:table#orders', true],
    ['srn2:*#*:*#*:*#*', true],
    ['*', true],
    // More levels than the resource has; a level stands for one only.
    ['srn2:*#*:*#*:*#*:*#*', false],
    ['srn2:table#orders:table#orders', false],
    ['srn2:cluster#pinot:cluster#pinot:table#orders', false],
    ['srn2:environment#pinot:table#orders', false],
    // The last level is of the resource itself, not of a part or of what contains it.
    ['srn2:cluster#pinot', false],
    ['srn2:table#other', false],
    ['srn2:cluster#pinot:table#other', false],
    ['srn2:cluster#other:table#orders', false],
    ['srn2:environment#us:cluster#pinot:table#orders', false],
    // The levels are in another order.
    ['srn2:cluster#pinot:environment#eu:table#orders', false],
  ])('%s: %s', (pattern, expected) => {
    expect(matches(pattern, 'srn2:environment#eu:cluster#pinot:table#orders')).toBe(expected);
  });
});

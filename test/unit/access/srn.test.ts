import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileGlob, globMatches } from '../../../src/access/glob.ts';
import {
  completeSrn,
  formatSrn,
  matchesEverything,
  parseSrn,
  parseSrnOf,
  parseSrnPattern,
} from '../../../src/access/srn.ts';

describe('parseSrn', () => {
  it('reads what formatSrn writes', () => {
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
    ['table#events', /must begin with `srn2:`/],
    ['srn2:', /must be `<kind>#<id>`/],
    ['srn2:table', /the level `table` must be/],
    ['srn2:table#', /must be `<kind>#<id>`/],
    ['srn2:table#a#b', /must be `<kind>#<id>`/],
    ['srn2:table#a b', /without spaces/],
    ['srn2:role#a:', /the level `` must be/],
    ['srn2:rolle#a', /did you mean `role`/],
    [`srn2:${Array.from({ length: 9 }, () => 'table#a').join(':')}`, /at most 8/],
  ])('refuses %s', (text, message) => {
    const parsed = parseSrn(text);
    expect(parsed.ok).toBe(false);
    expect(!parsed.ok && parsed.message).toMatch(message);
  });

  it('wants the kind that it was asked for', () => {
    expect(parseSrnOf('role', 'srn2:role#a')).toEqual({ ok: true, value: 'a' });
    for (const text of ['srn2:policy#a', 'srn2:cluster#c:role#a']) {
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
  ])('%s matches everything: %s', (text, everything) => {
    const parsed = parseSrnPattern(text);
    expect(parsed.ok && matchesEverything(parsed.value)).toBe(everything);
  });
});

describe('completeSrn', () => {
  const complete = (text: string): string => {
    const parsed = parseSrn(text);
    if (!parsed.ok) throw new Error(parsed.message);
    return formatSrn({ levels: completeSrn(parsed.value, { environment: 'e', cluster: 'c' }) });
  };
  it.each([
    ['srn2:table#t', 'srn2:environment#e:cluster#c:table#t'],
    ['srn2:cluster#x:table#t', 'srn2:environment#e:cluster#x:table#t'],
    ['srn2:environment#x:table#t', 'srn2:environment#x:cluster#c:table#t'],
    ['srn2:environment#x', 'srn2:environment#x'],
    ['srn2:cluster#x', 'srn2:environment#e:cluster#x'],
  ])('makes %s %s', (text, expected) => expect(complete(text)).toBe(expected));

  it('makes the cluster of nothing', () => {
    expect(formatSrn({ levels: completeSrn({ levels: [] }, { environment: 'e', cluster: 'c' }) })).toBe(
      'srn2:environment#e:cluster#c',
    );
  });
});

describe('globs', () => {
  it('match what the same regular expression matches', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), maxLength: 8 });
    fc.assert(
      fc.property(text, fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 12 }), (pattern, subject) => {
        const expression = pattern.replaceAll('.', String.raw`\.`).replaceAll('*', '.*');
        expect(globMatches(compileGlob(pattern), subject)).toBe(new RegExp(`^${expression}$`).test(subject));
      }),
    );
  });

  it('stay quick on a pattern made to be slow', () => {
    const started = performance.now();
    expect(globMatches(compileGlob(`${'a*'.repeat(100)}b`), 'a'.repeat(1024))).toBe(false);
    expect(performance.now() - started).toBeLessThan(200);
  });
});

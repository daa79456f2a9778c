import { describe, expect, it } from 'vitest';
import { visible, visibleText } from '../../../web/src/lib/visible.ts';

describe('a name', () => {
  it.each([
    ['zero-width space', 'ord\u200Bers', 'ord⟨U+200B⟩ers'],
    ['right-to-left override', 'a\u202Efdp.exe', 'a⟨U+202E⟩fdp.exe'],
    ['isolate', '\u2066admin\u2069', '⟨U+2066⟩admin⟨U+2069⟩'],
    ['soft hyphen', 'or\u00ADders', 'or⟨U+00AD⟩ders'],
    ['no-break space', 'sales\u00A0eu', 'sales⟨U+00A0⟩eu'],
    ['control character', 'a\u0007b\nc', 'a⟨U+0007⟩b⟨U+000A⟩c'],
    ['Hangul filler', 'a\u3164', 'a⟨U+3164⟩'],
    ['tag character outside of the basic plane', 'a\u{E0041}b', 'a⟨U+E0041⟩b'],
    ['half of a surrogate pair', 'a\uD800b', 'a⟨U+D800⟩b'],
  ])('shows a %s', (_what, name, shown) => {
    expect(visible(name)).toBe(shown);
  });

  it.each(['orders', 'ada@example.com', 'srn2:table#sales.eu', 'two words', 'größe', '注文', '😀'])(
    'without hidden characters stays as it is: %s',
    (name) => {
      expect(visible(name)).toBe(name);
    },
  );
});

describe('a message', () => {
  it('keeps its lines and shows the other hidden characters', () => {
    expect(visibleText('the table\n\t`ord\u200Bers`\nis not known')).toBe(
      'the table\n\t`ord⟨U+200B⟩ers`\nis not known',
    );
  });
});

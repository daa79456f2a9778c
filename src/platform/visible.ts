// Names can contain characters that nobody sees: `orders` and `orders` with a zero-width space look alike, and a direction character reverses
// what follows it.

/** Controls, zero-width and direction characters, halves of surrogate pairs, and spaces other than the usual one. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

function escaped(character: string): string {
  return `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`;
}

/** A message with its hidden characters as `⟨U+200B⟩`, as the dashboard shows them; it keeps its lines. */
export function visibleText(text: string): string {
  return text.replace(HIDDEN, (character) =>
    character === '\n' || character === '\t' ? character : escaped(character),
  );
}

/**
 * A JSON text whose strings were wrapped, as printed examples are: a line break within a string, with the blanks around it, becomes one blank,
 * and nothing in a resource name, which has no blanks. JSON does not allow such a line break, so the text means nothing else. Linear.
 */
export function withoutLineBreaks(json: string): string {
  let out = '';
  let from = 0;
  let start = -1;
  for (let at = 0; at < json.length; at++) {
    const character = json[at];
    if (character === '"') start = start < 0 ? at : -1;
    else if (character === '\\') at++;
    else if (start >= 0 && character === '\n') {
      let end = at + 1;
      while (isBlank(json[end])) end++;
      out += json.slice(from, at).trimEnd() + (json.startsWith('srn2:', start + 1) ? '' : ' ');
      from = end;
      at = end - 1;
    }
  }
  return out + json.slice(from);
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\t' || character === '\r' || character === '\n';
}

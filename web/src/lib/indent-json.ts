/** Maximum characters; a longer text is shown as it is. */
const MAX_CHARACTERS = 1_000_000;
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/**
 * A JSON object or array in lines with an indent of two spaces. Only white space changes: numbers keep every digit.
 * @returns undefined for a text that is not a JSON object or array
 */
export function indentJson(text: string): string | undefined {
  if (!/^\s*[{[]/.test(text) || text.length > MAX_CHARACTERS) return undefined;
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  let depth = 0;
  let out = '';
  const tokens = text.match(TOKEN) ?? [];
  for (const [index, token] of tokens.entries()) {
    const line = `\n${'  '.repeat(depth)}`;
    if (token === '}' || token === ']') {
      depth--;
      // An empty object or array stays in its line.
      out +=
        /[{[]/.test(tokens[index - 1] ?? '') && !/"/.test(tokens[index - 1] ?? '') ? token : line.slice(0, -2) + token;
    } else {
      const before = tokens[index - 1] ?? '';
      if (before === '{' || before === '[' || before === ',') out += line;
      out += token === ':' ? ': ' : token;
      if (token === '{' || token === '[') depth++;
    }
  }
  return out;
}

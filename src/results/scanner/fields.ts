/** A field of a JSON object; the value keeps its spelling. */
export interface RawField {
  readonly name: string;
  readonly value: string;
}

/** A field with a count. @returns undefined if it is absent or not a count: absence is not zero */
export function countIn(fields: readonly RawField[], name: string): number | undefined {
  const value = Number(fields.findLast((field) => field.name === name)?.value ?? Number.NaN);
  return Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/**
 * Splits an object into fields. Values keep their spelling, because JSON.parse would round long numbers.
 * @param json valid JSON of one object
 */
export function splitFields(json: string): RawField[] {
  const fields: RawField[] = [];
  let at = skipSpace(json, json.indexOf('{') + 1);
  while (json[at] === '"') {
    const nameEnd = endOfString(json, at);
    const name = JSON.parse(json.slice(at, nameEnd)) as string;
    const valueAt = skipSpace(json, skipSpace(json, nameEnd) + 1);
    const valueEnd = endOfValue(json, valueAt);
    fields.push({ name, value: json.slice(valueAt, valueEnd) });
    at = skipSpace(json, valueEnd);
    if (json[at] === ',') at = skipSpace(json, at + 1);
  }
  return fields;
}

function skipSpace(json: string, from: number): number {
  let at = from;
  while (at < json.length && json.charCodeAt(at) <= 0x20) at++;
  return at;
}

function endOfString(json: string, from: number): number {
  let at = from + 1;
  while (json[at] !== '"') at += json[at] === '\\' ? 2 : 1;
  return at + 1;
}

function endOfValue(json: string, from: number): number {
  let at = from;
  let depth = 0;
  for (;;) {
    const char = json[at];
    if (char === '"') {
      at = endOfString(json, at);
      if (depth === 0) return at;
      continue;
    }
    if (char === '{' || char === '[') depth++;
    else if (char === '}' || char === ']') {
      if (depth === 0) return at;
      depth--;
      if (depth === 0) return at + 1;
    } else if (depth === 0 && (char === ',' || char === undefined || char <= ' ')) return at;
    at++;
  }
}

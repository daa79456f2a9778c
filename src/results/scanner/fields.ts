import {
  afterSpace,
  afterString,
  afterValue,
  COMMA,
  OPEN_OBJECT,
  QUOTE,
  textAt,
  textOf,
} from '../../platform/json/valid-json.ts';

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
export function splitFields(json: Uint8Array): RawField[] {
  const fields: RawField[] = [];
  let at = afterSpace(json, json.indexOf(OPEN_OBJECT) + 1);
  while (json[at] === QUOTE) {
    const nameEnd = afterString(json, at);
    const name = textOf(textAt(json, at, nameEnd));
    // Behind the colon.
    const valueAt = afterSpace(json, afterSpace(json, nameEnd) + 1);
    const valueEnd = afterValue(json, valueAt);
    fields.push({ name, value: textAt(json, valueAt, valueEnd) });
    at = afterSpace(json, valueEnd);
    if (json[at] === COMMA) at = afterSpace(json, at + 1);
  }
  return fields;
}

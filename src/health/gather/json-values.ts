export type JsonValue = Readonly<Record<string, unknown>>;

/** The object; an empty one for anything else. */
export function objectOf(value: unknown): JsonValue {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonValue) : {};
}

/** A string, or a number as a string; undefined for anything else and for the empty string. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The objects of a list; none for anything else. */
export function specsOf(value: unknown): JsonValue[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}

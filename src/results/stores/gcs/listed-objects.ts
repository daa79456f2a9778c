/** An object in a page of a listing. */
export interface ListedObject {
  readonly name: string;
  readonly bytes: number;
  readonly modifiedMs: number | undefined;
}

export interface ListedPage {
  readonly objects: readonly ListedObject[];
  readonly nextPageToken: string | undefined;
}

/**
 * A page of a listing of objects.
 * @param body https://cloud.google.com/storage/docs/json_api/v1/objects/list
 * @throws {TypeError} for a body of another form
 */
export function listedObjects(body: unknown): ListedPage {
  const { items = [], nextPageToken } = objectOf(body, 'the listing');
  if (!Array.isArray(items)) throw new TypeError('the `items` of the listing are not an array');
  // An empty token is none.
  const next = nextPageToken === undefined || nextPageToken === '' ? undefined : text(nextPageToken, 'nextPageToken');
  return { objects: items.map(listedObject), nextPageToken: next };
}

function listedObject(item: unknown): ListedObject {
  const { name, size, updated } = objectOf(item, 'an object of the listing');
  const bytes = Number(size ?? 0);
  if (!Number.isSafeInteger(bytes)) throw new TypeError('`size` in a listing is not a whole number');
  return {
    name: text(name, 'name'),
    bytes,
    modifiedMs: updated === undefined ? undefined : Date.parse(text(updated, 'updated')),
  };
}

function objectOf(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  throw new TypeError(`${what} is not a JSON object`);
}

function text(value: unknown, field: string): string {
  if (typeof value === 'string') return value;
  throw new TypeError(`\`${field}\` in a listing is not a text`);
}

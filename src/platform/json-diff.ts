/** One place where two JSON documents differ. */
export interface Difference {
  /** JSON Pointer (RFC 6901); empty for the whole document. */
  readonly path: string;
  /** Absent where the first document has no value. */
  readonly before?: unknown;
  /** Absent where the second document has no value. */
  readonly after?: unknown;
}

export interface DifferenceLimits {
  /** Differences that are listed. */
  readonly maxDifferences: number;
  /** Characters of a value as JSON; a longer one is cut and becomes a string. */
  readonly maxValueLength: number;
  /** Characters of all values together. */
  readonly maxLength: number;
}

/**
 * The differences of two JSON documents, values at the same path compared: arrays by index.
 * @returns `truncated`: not all differences are listed, or a value was cut
 */
export function jsonDifferences(
  before: unknown,
  after: unknown,
  limits: DifferenceLimits,
): { readonly differences: readonly Difference[]; readonly truncated: boolean } {
  const differences: Difference[] = [];
  let truncated = false;
  let length = 0;
  const cut = (value: unknown): unknown => {
    const text = JSON.stringify(value) ?? '';
    const room = Math.min(limits.maxValueLength, limits.maxLength - length);
    length += Math.min(text.length, Math.max(room, 0));
    if (text.length <= room) return value;
    truncated = true;
    return `${text.slice(0, Math.max(room, 0))}…`;
  };
  const visit = (path: string, a: unknown, b: unknown): void => {
    if (a === b) return;
    if (isContainer(a) && isContainer(b) && Array.isArray(a) === Array.isArray(b)) {
      for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
        visit(`${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`, valueAt(a, key), valueAt(b, key));
      }
      return;
    }
    if (differences.length >= limits.maxDifferences || length >= limits.maxLength) {
      truncated = true;
      return;
    }
    differences.push({
      path,
      ...(a === undefined ? {} : { before: cut(a) }),
      ...(b === undefined ? {} : { after: cut(b) }),
    });
  };
  visit('', before, after);
  return { differences, truncated };
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function valueAt(container: object, key: string): unknown {
  return Object.hasOwn(container, key) ? (container as Readonly<Record<string, unknown>>)[key] : undefined;
}

import type { ColumnIndex } from '../../snapshot.ts';
import { tokenIs, type JsonVisitor } from '../calls/json-scanner.ts';
import { tokenText } from '../../../platform/json/valid-json.ts';

const INDEXES = Buffer.from('indexes');
const YES = Buffer.from('YES');
const TRUE = Buffer.from('true');
const COLUMNS = Buffer.from('columns');
const COLUMN_NAME = Buffer.from('columnName');
const SORTED = Buffer.from('sorted');
/** Indexes that a reload removes from a segment when the configuration no longer has them. */
const REMOVABLE = [
  'inverted-index',
  'range-index',
  'bloom-filter',
  'json-index',
  'text-index',
  'fst-index',
  'h3-index',
];

/** What the segments of a table should have. */
export interface ExpectedIndexes {
  readonly columns: readonly string[];
  readonly indexes: readonly ColumnIndex[];
  /** Columns without a dictionary; undefined if that is not known. */
  readonly rawColumns: readonly string[] | undefined;
}

/**
 * Compares the columns and indexes of segments with the schema and the table configuration, for engine versions that do not report whether
 * a segment needs a reload. Reads `{segment: {…, "columns": [{"columnName": …, "sorted": true, …}], "indexes": {column: {"inverted-index":
 * "YES", "dictionary": "YES", …}}}}`.
 *
 * Additional columns are ignored. A sorted column has an inverted index and a dictionary without being configured so.
 */
export class IndexVisitor implements JsonVisitor {
  /** Number of segments read. */
  segments = 0;
  /** Names of segments that lack a column or an index. */
  readonly stale: string[] = [];
  /** Configured indexes that the metadata does not report. */
  readonly unreported: string[] = [];
  readonly #columns: readonly string[];
  readonly #indexes: readonly ColumnIndex[];
  readonly #configured: ReadonlySet<string>;
  readonly #raw: ReadonlySet<string> | undefined;
  #segment = '';
  #inIndexes = false;
  #column = '';
  readonly #seenColumns = new Set<string>();
  /** Whether the segment has an index, by `<column> <index>`. */
  readonly #seen = new Map<string, boolean>();
  #index = '';
  #inColumns = false;
  #member: 'columnName' | 'sorted' | undefined;
  #listed = { name: '', sorted: false };
  /** Columns of the segment by name, with whether they are sorted. */
  readonly #sorted = new Map<string, boolean>();

  constructor(expected: ExpectedIndexes) {
    this.#columns = expected.columns;
    this.#indexes = expected.indexes;
    this.#configured = new Set(expected.indexes.map(({ column, index }) => `${column} ${index}`));
    this.#raw = expected.rawColumns === undefined ? undefined : new Set(expected.rawColumns);
  }

  key(bytes: Buffer, start: number, end: number, depth: number): void {
    if (depth === 1) this.#segment = tokenText(bytes, start, end);
    else if (depth === 2) {
      this.#inIndexes = tokenIs(bytes, start, end, INDEXES);
      this.#inColumns = tokenIs(bytes, start, end, COLUMNS);
    } else if (depth === 4 && this.#inColumns) this.#member = memberOf(bytes, start, end);
    else if (!this.#inIndexes) return;
    else if (depth === 3) this.#seenColumns.add((this.#column = tokenText(bytes, start, end)));
    else if (depth === 4) this.#index = tokenText(bytes, start, end);
  }

  scalar(bytes: Buffer, start: number, end: number, depth: number): void {
    if (depth !== 4) return;
    if (this.#inColumns && this.#member === 'columnName') this.#listed.name = tokenText(bytes, start, end);
    else if (this.#inColumns && this.#member === 'sorted') this.#listed.sorted = tokenIs(bytes, start, end, TRUE);
    else if (this.#inIndexes) this.#seen.set(`${this.#column} ${this.#index}`, tokenIs(bytes, start, end, YES));
  }

  endObject(depth: number): void {
    if (depth === 4 && this.#inColumns) {
      this.#sorted.set(this.#listed.name, this.#listed.sorted);
      this.#listed = { name: '', sorted: false };
    }
    if (depth !== 2) return;
    this.segments += 1;
    if (this.#isStale()) this.stale.push(this.#segment);
    this.#seenColumns.clear();
    this.#seen.clear();
    this.#sorted.clear();
    this.#inIndexes = false;
    this.#inColumns = false;
  }

  #isStale(): boolean {
    if (this.#columns.some((column) => !this.#seenColumns.has(column))) return true;
    let stale = false;
    for (const { column, index } of this.#indexes) {
      const present = this.#seen.get(`${column} ${index}`);
      if (present === false) stale = true;
      if (present === undefined && this.#seenColumns.has(column)) this.#addUnreported(`\`${index}\` of \`${column}\``);
    }
    return stale || this.#hasRemovedIndex() || this.#hasOtherEncoding();
  }

  /** Whether the segment has an index that is not configured. */
  #hasRemovedIndex(): boolean {
    return [...this.#seenColumns].some((column) =>
      REMOVABLE.some((index) => {
        const key = `${column} ${index}`;
        if (this.#seen.get(key) !== true || this.#configured.has(key)) return false;
        return index !== 'inverted-index' || this.#sorted.get(column) === false;
      }),
    );
  }

  /** Whether a column has a dictionary and should have none, or the other way round. */
  #hasOtherEncoding(): boolean {
    const raw = this.#raw;
    if (raw === undefined) return false;
    return [...this.#seenColumns].some((column) => {
      const dictionary = this.#seen.get(`${column} dictionary`);
      return dictionary !== undefined && this.#sorted.get(column) === false && dictionary === raw.has(column);
    });
  }

  #addUnreported(what: string): void {
    if (!this.unreported.includes(what)) this.unreported.push(what);
  }
}

function memberOf(bytes: Buffer, start: number, end: number): 'columnName' | 'sorted' | undefined {
  if (tokenIs(bytes, start, end, COLUMN_NAME)) return 'columnName';
  return tokenIs(bytes, start, end, SORTED) ? 'sorted' : undefined;
}

import type { ColumnIndex } from '../snapshot.ts';
import { tokenIs, tokenText, type JsonVisitor } from './json-scanner.ts';

const INDEXES = Buffer.from('indexes');
const YES = Buffer.from('YES');

/**
 * Compares the columns and indexes of segments with the schema and the table configuration, for engine versions that do not report whether
 * a segment needs a reload. Reads `{segment: {…, "indexes": {column: {"inverted-index": "YES", …}}}}`.
 *
 * Additional columns and indexes are ignored: a sorted column has an inverted index without being configured so.
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
  #segment = '';
  #inIndexes = false;
  #column = '';
  readonly #seenColumns = new Set<string>();
  /** Whether the segment has an index, by `<column> <index>`. */
  readonly #seen = new Map<string, boolean>();
  #index = '';

  constructor(expected: { columns: readonly string[]; indexes: readonly ColumnIndex[] }) {
    this.#columns = expected.columns;
    this.#indexes = expected.indexes;
  }

  key(bytes: Buffer, start: number, end: number, depth: number): void {
    if (depth === 1) this.#segment = tokenText(bytes, start, end);
    else if (depth === 2) this.#inIndexes = tokenIs(bytes, start, end, INDEXES);
    else if (!this.#inIndexes) return;
    else if (depth === 3) this.#seenColumns.add((this.#column = tokenText(bytes, start, end)));
    else if (depth === 4) this.#index = tokenText(bytes, start, end);
  }

  scalar(bytes: Buffer, start: number, end: number, depth: number): void {
    if (this.#inIndexes && depth === 4)
      this.#seen.set(`${this.#column} ${this.#index}`, tokenIs(bytes, start, end, YES));
  }

  endObject(depth: number): void {
    if (depth !== 2) return;
    this.segments += 1;
    if (this.#isStale()) this.stale.push(this.#segment);
    this.#seenColumns.clear();
    this.#seen.clear();
    this.#inIndexes = false;
  }

  #isStale(): boolean {
    if (this.#columns.some((column) => !this.#seenColumns.has(column))) return true;
    let stale = false;
    for (const { column, index } of this.#indexes) {
      const present = this.#seen.get(`${column} ${index}`);
      if (present === false) stale = true;
      if (present === undefined && this.#seenColumns.has(column)) this.#addUnreported(`\`${index}\` of \`${column}\``);
    }
    return stale;
  }

  #addUnreported(what: string): void {
    if (!this.unreported.includes(what)) this.unreported.push(what);
  }
}
